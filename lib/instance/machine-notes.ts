import { LRUCache } from 'lru-cache'
import type { Db } from '@/lib/db/client'
import { log, loggableError } from '@/lib/instance/log'
import { noteMachines, type SeenMachine } from '@/lib/queue/note-machines'

const NOTED_EVERY_MS = 30_000
/** Notes wait for each other this long, so that a fleet costs one statement and not one per machine. */
const WRITTEN_EVERY_MS = 5_000
const MAX_MACHINES = 50_000
const MAX_BATCH = 5_000

interface Notes {
  noted: LRUCache<string, true>
  pending: Map<string, SeenMachine>
  /** On the monotonic clock. */
  writtenAt: number
  isWriting: boolean
}

const allNotes = new WeakMap<Db, Notes>()

function notesOf(db: Db): Notes {
  let notes = allNotes.get(db)
  if (notes === undefined) {
    const noted = new LRUCache<string, true>({ max: MAX_MACHINES, ttl: NOTED_EVERY_MS })
    notes = { noted, pending: new Map(), writtenAt: Number.NEGATIVE_INFINITY, isWriting: false }
    allNotes.set(db, notes)
  }
  return notes
}

/**
 * Notes that a machine was seen, at most every 30 s from this instance.
 *
 * @returns as {@link maybeWriteMachines}
 */
export function noteMachine(db: Db, machine: SeenMachine): Promise<void> | undefined {
  const { noted, pending } = notesOf(db)
  const name = JSON.stringify([machine.orchestratorId, machine.machineId])
  const nameOfVersion = JSON.stringify([name, machine.version])
  if (!noted.has(nameOfVersion)) {
    noted.set(nameOfVersion, true)
    pending.set(name, { ...machine, version: machine.version ?? pending.get(name)?.version ?? null })
  }
  return maybeWriteMachines(db)
}

/**
 * Writes what was noted since the last time, unless that was a moment ago.
 *
 * @returns the writing, if there is any; it never rejects, for a poll must not fail over it
 */
export function maybeWriteMachines(db: Db): Promise<void> | undefined {
  const notes = notesOf(db)
  const isDue = performance.now() - notes.writtenAt >= WRITTEN_EVERY_MS
  return notes.isWriting || !isDue || notes.pending.size === 0 ? undefined : writeMachines(db, notes)
}

async function writeMachines(db: Db, notes: Notes): Promise<void> {
  const batch = [...notes.pending].slice(0, MAX_BATCH)
  for (const [name] of batch) notes.pending.delete(name)
  notes.isWriting = true
  notes.writtenAt = performance.now()
  try {
    await noteMachines(
      db,
      batch.map(([, machine]) => machine),
    )
  } catch (error) {
    for (const [name, machine] of batch) if (!notes.pending.has(name)) notes.pending.set(name, machine)
    log().warn(loggableError(error), 'machines could not be noted as seen')
  } finally {
    notes.isWriting = false
  }
}
