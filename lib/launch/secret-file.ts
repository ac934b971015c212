import { randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs'
import { errorCode } from '@/lib/process/processes'

/** The secret in a file that only its owner may read; made and kept there the first time. Not for two processes at once. */
export function keepSecret(file: string): string {
  const kept = read(file)
  if (kept) return kept
  const secret = randomBytes(32).toString('base64url')
  // Under its name only when it is on disk: a secret that is half written would lock its owner out.
  const partial = `${file}.new`
  const output = openSync(partial, 'w', 0o600)
  writeSync(output, `${secret}\n`)
  fsyncSync(output)
  closeSync(output)
  renameSync(partial, file)
  return secret
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw error
  }
}
