import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { z } from 'zod'
import { isAlive, startStamp } from '@/lib/process/processes'

/** A process, told apart from a later one that happens to get the same id. */
const processIdentity = z.object({
  pid: z.number().int().positive(),
  /** When it started; undefined where that cannot be known, and then its id alone has to do. */
  startedAt: z.string().optional(),
  host: z.string(),
  nonce: z.uuid(),
})

export type ProcessIdentity = z.infer<typeof processIdentity>

/** The identity of a process that runs on this machine now. */
export function identityOf(pid: number): ProcessIdentity {
  return { pid, startedAt: startStamp(pid), host: hostName(), nonce: randomUUID() }
}

/** Reads an identity back from its JSON; undefined when it is none. */
export function parseIdentity(text: string): ProcessIdentity | undefined {
  try {
    return processIdentity.parse(JSON.parse(text))
  } catch {
    return undefined
  }
}

/** Whether exactly this process runs still. One of another host, or of another container on this one, cannot be seen and counts as running. */
export function isStillRunning(identity: ProcessIdentity): boolean {
  if (isElsewhere(identity)) return true
  if (!isAlive(identity.pid)) return false
  const startedAt = startStamp(identity.pid)
  return startedAt === undefined || identity.startedAt === undefined || startedAt === identity.startedAt
}

/** Whether the process belongs to another host or container, whose processes cannot be seen from here. */
export function isElsewhere(identity: ProcessIdentity): boolean {
  return identity.host !== hostName()
}

/** A Mac changes its name with the network, and has no containers of its own. */
function hostName(): string {
  return process.platform === 'linux' ? hostname() : ''
}
