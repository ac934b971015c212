import type { Config } from '@/lib/config'
import { ProblemError } from '@/lib/http/problem'

/**
 * Refuses a payload or result that is larger than the setting allows; nothing is stored, and a claim stays as it is.
 *
 * @throws {ProblemError} 413 with `limitBytes`, which counts the UTF-8 bytes of its JSON
 */
export function requireSize(value: unknown, path: string, { maxPayloadBytes }: Pick<Config, 'maxPayloadBytes'>): void {
  if (value === undefined) return
  const size = Buffer.byteLength(JSON.stringify(value))
  if (size <= maxPayloadBytes) return
  throw new ProblemError(
    'too-large',
    `${path} has ${size} bytes as JSON; at most ${maxPayloadBytes} are kept. Store it elsewhere and send a link to it.`,
    {
      limitBytes: maxPayloadBytes,
    },
  )
}
