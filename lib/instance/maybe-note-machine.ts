import { LRUCache } from 'lru-cache'
import type { Db } from '@/lib/db/client'
import { log, loggableError } from '@/lib/instance/log'
import { noteMachine } from '@/lib/queue/note-machine'

const NOTED_EVERY_MS = 30_000
const MAX_MACHINES = 50_000

const noted = new WeakMap<Db, LRUCache<string, true>>()

/** Notes that a machine was seen, at most every 30 s from this instance; never rejects, for a poll must not fail over it. */
export async function maybeNoteMachine(
  db: Db,
  machine: { orchestratorId: string; machineId: string; version: string | null },
): Promise<void> {
  const recent = noted.get(db) ?? new LRUCache<string, true>({ max: MAX_MACHINES, ttl: NOTED_EVERY_MS })
  noted.set(db, recent)
  const name = JSON.stringify([machine.orchestratorId, machine.machineId, machine.version])
  if (recent.has(name)) return
  recent.set(name, true)
  try {
    await noteMachine(db, machine)
  } catch (error) {
    recent.delete(name)
    log().warn(loggableError(error), 'a machine could not be noted as seen')
  }
}
