import { byHand } from './by-hand'
import type { Contestant } from './contestant'
import { graphileWorker } from './graphile-worker'
import { ours } from './ours'
import { pgBoss } from './pg-boss'
import { pgmq, selectForUpdate } from './sql-queues'

type Make = (url: string, poolSize: number) => Contestant

/** Whose tables a contestant works on: `dispatch` ones come migrated. */
export const contestants = {
  'dispatch-queue': { make: ours, schema: 'dispatch' },
  'the same by hand': { make: byHand, schema: 'dispatch' },
  'pg-boss': { make: pgBoss, schema: 'own' },
  'graphile-worker': { make: (url, size) => graphileWorker(url, size, false), schema: 'own' },
  'graphile-worker, batching': { make: (url, size) => graphileWorker(url, size, true), schema: 'own' },
  'pgmq (its statements)': { make: pgmq, schema: 'own' },
  'SELECT … FOR UPDATE': { make: selectForUpdate, schema: 'own' },
} as const satisfies Record<string, { make: Make; schema: 'dispatch' | 'own' }>

export type ContestantName = keyof typeof contestants
