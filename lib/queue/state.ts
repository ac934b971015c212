import { type SQL, sql } from 'drizzle-orm'

export const liveStates = ['queued', 'scheduled', 'claimed', 'stale'] as const
export const finalStates = ['completed', 'failed', 'cancelled'] as const
export type LiveState = (typeof liveStates)[number]
export type WorkState = LiveState | (typeof finalStates)[number]

/**
 * The one definition of the states of live work; none is stored. Exactly one holds for every row of
 * `dispatch_queue`, since `claim_expires_at` is never NULL while `claimed_at` is set (a CHECK).
 */
export const liveStateCondition: Record<LiveState, SQL> = {
  queued: sql`claimed_at IS NULL AND available_at <= now()`,
  scheduled: sql`claimed_at IS NULL AND available_at > now()`,
  claimed: sql`claimed_at IS NOT NULL AND claim_expires_at >= now()`,
  stale: sql`claimed_at IS NOT NULL AND claim_expires_at < now()`,
}

/** The state of a row of `dispatch_queue`, as text. */
export const liveState: SQL<LiveState> = sql`CASE ${sql.join(
  liveStates.map((state) => sql`WHEN ${liveStateCondition[state]} THEN ${sql.raw(`'${state}'`)}`),
  sql` `,
)} END`

export const isLiveState = (state: WorkState): state is LiveState => liveStates.some((live) => live === state)
