import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { identityOf, isStillRunning, type ProcessIdentity, parseIdentity } from '@/lib/process/process-identity'
import { errorCode } from '@/lib/process/processes'

/** Either the lock, or who holds it. */
export type LockAttempt = { readonly release: () => void } | { readonly heldBy: ProcessIdentity }

/**
 * Tries to take a lock that is a file. The lock of a process that is gone is taken over; a living holder never loses
 * it, however old it is. Of several that try at once, one gets it.
 */
export async function tryLock(file: string): Promise<LockAttempt> {
  const mine = identityOf(process.pid)
  for (;;) {
    if (create(file, mine)) return { release: () => removeIf(file, mine) }
    const holder = await readHolder(file)
    if (holder === 'none') continue
    if (holder !== 'unreadable' && isStillRunning(holder)) return { heldBy: holder }
    await removeDead(file, holder)
  }
}

function create(file: string, identity: ProcessIdentity): boolean {
  try {
    writeFileSync(file, JSON.stringify(identity), { flag: 'wx', mode: 0o644 })
    return true
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false
    throw error
  }
}

type Holder = ProcessIdentity | 'none' | 'unreadable'

/** A lock is empty for the instant between its creation and its writing; one that stays so was left by a process killed right there. */
async function readHolder(file: string): Promise<Holder> {
  for (let tries = 0; ; tries++) {
    const holder = readOnce(file)
    if (holder !== 'unreadable' || tries === 20) return holder
    await sleep(50)
  }
}

function readOnce(file: string): Holder {
  try {
    return parseIdentity(readFileSync(file, 'utf8')) ?? 'unreadable'
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return 'none'
    throw error
  }
}

/**
 * Removes a dead holder's lock. The right to do so is a lock itself: of two that found the same dead holder, the
 * slower one would otherwise remove the new lock of the faster.
 */
async function removeDead(file: string, holder: ProcessIdentity | 'unreadable'): Promise<void> {
  const right = await tryLock(`${file}.${holder === 'unreadable' ? holder : holder.nonce}`)
  if (!('release' in right)) return sleep(50)
  const now = readOnce(file)
  if (now === holder || (typeof now === 'object' && typeof holder === 'object' && now.nonce === holder.nonce))
    rmSync(file, { force: true })
  right.release()
}

function removeIf(file: string, identity: ProcessIdentity): void {
  const holder = readOnce(file)
  if (typeof holder === 'object' && holder.nonce === identity.nonce) rmSync(file, { force: true })
}
