import { randomUUID } from 'node:crypto'
import { getTableColumns } from 'drizzle-orm'
import { dispatchHistory, dispatchQueue } from '@/lib/db/schema'
import type { Sql } from './db'

/** A column's value that Postgres computes: an SQL expression, put into the statement as it is. */
export class Expression {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** An instant by Postgres's clock: `ahead('1 hour')`. */
export const ahead = (interval: string): Expression => new Expression(`now() + interval '${interval}'`)
export const ago = (interval: string): Expression => new Expression(`now() - interval '${interval}'`)

type Columns<Table extends { $inferInsert: object }> = {
  [Name in keyof Table['$inferInsert']]?: Table['$inferInsert'][Name] | Expression
}
export type WorkColumns = Columns<typeof dispatchQueue> & { id?: number }
export type FinishedColumns = Columns<typeof dispatchHistory>

export interface Inserted {
  queueId: number
  orchestratorId: string
}
export interface InsertedClaim extends Inserted {
  claimToken: string
  machineId: string
}

/** An orchestrator that no other test has. */
export const newOrchestratorId = (): string => `orchestrator-${randomUUID()}`

/** Puts in a row of work as a producer's plain INSERT does: queued, due, never claimed, unless columns say otherwise. */
export async function insertWork(sql: Sql, columns: WorkColumns = {}): Promise<Inserted> {
  return insert(sql, 'dispatch_queue', dispatchQueue, {
    orchestratorId: newOrchestratorId(),
    payload: { issue: 'LIN-1' },
    ...columns,
  })
}

/** Puts in a row that a machine has claimed a moment ago, for a minute. */
export async function insertClaimed(sql: Sql, columns: WorkColumns = {}): Promise<InsertedClaim> {
  const claimToken = randomUUID()
  const machineId = `machine-${randomUUID()}`
  const row = await insertWork(sql, {
    claimedAt: ago('1 second'),
    claimedBy: machineId,
    claimToken,
    attempts: 1,
    leaseMs: 60_000,
    claimExpiresAt: ahead('1 minute'),
    ...columns,
  })
  return { ...row, claimToken: text(columns.claimToken, claimToken), machineId: text(columns.claimedBy, machineId) }
}

/** Puts a row of finished work into history: completed, unless columns say otherwise. */
export async function insertFinished(sql: Sql, columns: FinishedColumns = {}): Promise<InsertedClaim> {
  const claimToken = randomUUID()
  const machineId = `machine-${randomUUID()}`
  const row = await insert(sql, 'dispatch_history', dispatchHistory, {
    id: new Expression(`nextval('dispatch_queue_id_seq')`),
    orchestratorId: newOrchestratorId(),
    payload: { issue: 'LIN-1' },
    claimedAt: ago('1 minute'),
    claimedBy: machineId,
    claimToken,
    attempts: 1,
    outcome: 'completed',
    ...columns,
  })
  return { ...row, claimToken: text(columns.claimToken, claimToken), machineId: text(columns.claimedBy, machineId) }
}

/** Lets a claim's lease run out, as if its machine had not been heard of for a while. */
export async function expireClaim(sql: Sql, queueId: number): Promise<void> {
  const rows = await sql(
    `UPDATE dispatch_queue SET claim_expires_at = now() - interval '1 second'
      WHERE id = $1 AND claimed_at IS NOT NULL RETURNING id`,
    [queueId],
  )
  if (rows.length !== 1) throw new Error(`work ${queueId} is not claimed`)
}

/** Everything that both tables hold of a piece of work, under the columns' own names; compare it before and after. */
export async function allRows(
  sql: Sql,
  queueId: number,
): Promise<{ queue: Record<string, unknown>[]; history: Record<string, unknown>[] }> {
  return {
    queue: await sql('SELECT * FROM dispatch_queue WHERE id = $1', [queueId]),
    history: await sql('SELECT * FROM dispatch_history WHERE id = $1', [queueId]),
  }
}

/** The row of a piece of work, wherever it is. @throws {Error} unless exactly one of the tables holds it */
export async function onlyRow(sql: Sql, queueId: number): Promise<Record<string, unknown>> {
  const { queue, history } = await allRows(sql, queueId)
  const [row, ...others] = [...queue, ...history]
  if (row === undefined || others.length > 0)
    throw new Error(`work ${queueId} has ${queue.length} + ${history.length} rows`)
  return row
}

const text = (value: unknown, otherwise: string): string => (typeof value === 'string' ? value : otherwise)

async function insert(
  sql: Sql,
  tableName: string,
  table: typeof dispatchQueue | typeof dispatchHistory,
  columns: Record<string, unknown>,
): Promise<Inserted> {
  const names = new Map(Object.entries(getTableColumns(table)).map(([key, column]) => [key, column]))
  const params: unknown[] = []
  const parts = Object.entries(columns).map(([key, value]) => {
    const column = names.get(key)
    if (column === undefined) throw new Error(`${tableName} has no column for ${key}`)
    if (value instanceof Expression) return { name: column.name, value: value.text }
    const isJson = column.dataType === 'json' || Array.isArray(value)
    params.push(isJson ? JSON.stringify(value) : value)
    return { name: column.name, value: `$${params.length}` }
  })
  const [row] = await sql<{ queueId: number; orchestratorId: string }>(
    `INSERT INTO ${tableName} (${parts.map((part) => part.name).join(', ')}) VALUES (${parts.map((part) => part.value).join(', ')})
     RETURNING id AS "queueId", orchestrator_id AS "orchestratorId"`,
    params,
  )
  if (row === undefined) throw new Error('INSERT gave no row')
  return row
}
