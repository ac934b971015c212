import { createHash } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { tryLock } from '@/lib/process/file-lock'

/**
 * Takes a machine's name for this process alone: the wanted one, or, while another worker on this host has it, that one with -2,
 * -3 and so on. A worker that starts again gets the same name, and with it the claims that it held.
 *
 * @param scope what the name must be the only one of its kind in: the server and the orchestrator
 */
export async function takeMachineName(
  directory: string,
  scope: readonly string[],
  wanted: string,
): Promise<{ name: string; release: () => void }> {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? wanted : `${wanted}-${number}`
    const hash = createHash('sha256')
      .update(JSON.stringify([...scope, name]))
      .digest('hex')
    const attempt = await tryLock(path.join(directory, `${hash.slice(0, 32)}.lock`))
    if ('release' in attempt) return { name, release: attempt.release }
  }
}
