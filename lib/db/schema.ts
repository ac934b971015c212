import { type SQL, sql } from 'drizzle-orm'
import {
  bigint,
  check,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  smallint,
  text,
  timestamp,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core'

const instant = (name: string) => timestamp(name, { withTimezone: true, mode: 'date' })

/** What is known of a piece of work both while it is live and after it has finished. */
const facts = () => ({
  orchestratorId: text('orchestrator_id').notNull(),
  payload: jsonb('payload').notNull(),
  priority: smallint('priority').notNull().default(0),
  dedupeKey: text('dedupe_key'),
  attempts: integer('attempts').notNull().default(0),
  maxAttempts: integer('max_attempts').notNull().default(3),
  availableAt: instant('available_at').notNull().defaultNow(),
  createdAt: instant('created_at').notNull().defaultNow(),
  claimedAt: instant('claimed_at'),
  claimedBy: text('claimed_by'),
  claimToken: uuid('claim_token'),
  claimTimeoutMs: integer('claim_timeout_ms'),
  enqueueId: uuid('enqueue_id'),
  progress: smallint('progress'),
  progressNote: text('progress_note'),
  lastError: text('last_error'),
  attemptLog: jsonb('attempt_log').notNull().default([]),
})

/**
 * Live work only; the statement that finishes a row moves it to `dispatch_history`.
 * `claimed_at IS NULL` means that anyone may take the row. Every column that a producer need not know
 * has a default, so a plain `INSERT (orchestrator_id, payload)` enqueues.
 *
 * `claim_expires_at`, `progress` and `progress_note` stay out of every index, so that a heartbeat is a
 * heap-only update (Postgres manual, section 66.7).
 */
export const dispatchQueue = pgTable(
  'dispatch_queue',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedByDefaultAsIdentity(),
    ...facts(),
    leaseMs: integer('lease_ms'),
    claimExpiresAt: instant('claim_expires_at'),
    payloadBytes: integer('payload_bytes')
      .notNull()
      .generatedAlwaysAs((): SQL => sql`octet_length(payload::text)`),
  },
  (table) => [
    index('dispatch_queue_claimable')
      .on(table.orchestratorId, table.priority, table.availableAt, table.id)
      .where(sql`claimed_at IS NULL`),
    index('dispatch_queue_claimed').on(table.orchestratorId, table.claimedBy).where(sql`claimed_at IS NOT NULL`),
    uniqueIndex('dispatch_queue_dedupe_key')
      .on(table.orchestratorId, table.dedupeKey)
      .where(sql`dedupe_key IS NOT NULL`),
    uniqueIndex('dispatch_queue_enqueue_id')
      .on(table.orchestratorId, table.enqueueId)
      .where(sql`enqueue_id IS NOT NULL`),
    check('dispatch_queue_id_range', sql`id BETWEEN 1 AND 9007199254740991`),
    check(
      'dispatch_queue_claim_is_whole',
      sql`CASE WHEN claimed_at IS NULL THEN claim_expires_at IS NULL AND (claim_token IS NULL OR lease_ms IS NOT NULL)
               ELSE claim_token IS NOT NULL AND claim_expires_at IS NOT NULL AND lease_ms IS NOT NULL END`,
    ),
    check('dispatch_queue_orchestrator_length', sql`char_length(orchestrator_id) BETWEEN 1 AND 200`),
    check('dispatch_queue_machine_length', sql`char_length(claimed_by) BETWEEN 1 AND 200`),
    check('dispatch_queue_dedupe_key_length', sql`char_length(dedupe_key) BETWEEN 1 AND 256`),
    check('dispatch_queue_note_length', sql`char_length(progress_note) <= 1000`),
    check('dispatch_queue_error_length', sql`char_length(last_error) <= 10000`),
    check('dispatch_queue_priority_range', sql`priority BETWEEN -1000 AND 1000`),
    check('dispatch_queue_attempts_range', sql`attempts BETWEEN 0 AND 1000000`),
    check('dispatch_queue_max_attempts_range', sql`max_attempts BETWEEN 1 AND 100`),
    check('dispatch_queue_progress_range', sql`progress BETWEEN 0 AND 100`),
    check('dispatch_queue_lease_range', sql`lease_ms BETWEEN 1000 AND 86400000`),
    check('dispatch_queue_claim_timeout_range', sql`claim_timeout_ms BETWEEN 1000 AND 86400000`),
    check('dispatch_queue_attempt_log_is_list', sql`jsonb_typeof(attempt_log) = 'array'`),
  ],
)

export const outcomes = ['completed', 'failed', 'cancelled'] as const

/** Work that has finished; pruned by age. `claim_token` is the last holder's, so that its repeated call is recognised. */
export const dispatchHistory = pgTable(
  'dispatch_history',
  {
    id: bigint('id', { mode: 'number' }).primaryKey(),
    ...facts(),
    outcome: text('outcome', { enum: outcomes }).notNull(),
    result: jsonb('result'),
    finishedAt: instant('finished_at').notNull().defaultNow(),
  },
  (table) => [
    index('dispatch_history_finished').on(table.finishedAt),
    index('dispatch_history_enqueue_id').on(table.orchestratorId, table.enqueueId).where(sql`enqueue_id IS NOT NULL`),
    check('dispatch_history_outcome_known', sql`outcome IN ('completed', 'failed', 'cancelled')`),
  ],
)

/** The machines that have polled, one row per (orchestrator, machine). */
export const machines = pgTable(
  'machines',
  {
    orchestratorId: text('orchestrator_id').notNull(),
    machineId: text('machine_id').notNull(),
    firstSeenAt: instant('first_seen_at').notNull().defaultNow(),
    lastSeenAt: instant('last_seen_at').notNull().defaultNow(),
    version: text('version'),
  },
  (table) => [
    primaryKey({ name: 'machines_pkey', columns: [table.orchestratorId, table.machineId] }),
    check('machines_orchestrator_length', sql`char_length(orchestrator_id) BETWEEN 1 AND 200`),
    check('machines_machine_length', sql`char_length(machine_id) BETWEEN 1 AND 200`),
  ],
)

export const roles = ['producer', 'orchestrator', 'viewer', 'admin'] as const

/** Issued keys. Only the SHA-256 of a key is kept; `prefix` lets a person tell keys apart. */
export const apiKeys = pgTable(
  'api_keys',
  {
    id: uuid('id').primaryKey().defaultRandom(),
    name: text('name').notNull(),
    role: text('role', { enum: roles }).notNull(),
    orchestratorId: text('orchestrator_id'),
    keyHash: text('key_hash').notNull(),
    prefix: text('prefix').notNull(),
    createdAt: instant('created_at').notNull().defaultNow(),
    lastUsedAt: instant('last_used_at'),
    revokedAt: instant('revoked_at'),
  },
  (table) => [
    uniqueIndex('api_keys_key_hash').on(table.keyHash),
    check('api_keys_role_known', sql`role IN ('producer', 'orchestrator', 'viewer', 'admin')`),
    check('api_keys_orchestrator_is_bound', sql`role <> 'orchestrator' OR orchestrator_id IS NOT NULL`),
    check('api_keys_name_length', sql`char_length(name) BETWEEN 1 AND 200`),
    check('api_keys_hash_is_sha256', sql`key_hash ~ '^[0-9a-f]{64}$'`),
  ],
)
