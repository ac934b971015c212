import { type SQL, sql } from 'drizzle-orm'
import {
  bigint,
  check,
  customType,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  timestamp,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core'

const instant = (name: string) => timestamp(name, { withTimezone: true, mode: 'date' })

/**
 * A column of a domain (Postgres manual, section 8.18), made in `drizzle/0002_domains.sql` with its limits. A session parses a
 * domain's CHECK once and evaluates it for a column that is assigned; a table's CHECKs are parsed and evaluated by each
 * statement that writes, which took a fifth of the queue's speed.
 */
const domainOf =
  <T>() =>
  (domain: string) =>
    customType<{ data: T; driverData: T }>({ dataType: () => domain })
const textDomain = domainOf<string>()
const integerDomain = domainOf<number>()

const orchestratorId = textDomain('dispatch_orchestrator_id')
const machineId = textDomain('dispatch_machine_id')
const dedupeKey = textDomain('dispatch_dedupe_key')
const progressNote = textDomain('dispatch_progress_note')
const errorText = textDomain('dispatch_error')
const priority = integerDomain('dispatch_priority')
const attempts = integerDomain('dispatch_attempts')
const maxAttempts = integerDomain('dispatch_max_attempts')
const progress = integerDomain('dispatch_progress')
const leaseMs = integerDomain('dispatch_lease_ms')
const attemptLog = domainOf<unknown[]>()('dispatch_attempt_log')

/** What is known of a piece of work both while it is live and after it has finished. */
const facts = () => ({
  orchestratorId: orchestratorId('orchestrator_id').notNull(),
  payload: jsonb('payload').notNull(),
  priority: priority('priority').notNull().default(0),
  dedupeKey: dedupeKey('dedupe_key'),
  attempts: attempts('attempts').notNull().default(0),
  maxAttempts: maxAttempts('max_attempts').notNull().default(3),
  availableAt: instant('available_at').notNull().defaultNow(),
  createdAt: instant('created_at').notNull().defaultNow(),
  claimedAt: instant('claimed_at'),
  claimedBy: machineId('claimed_by'),
  claimToken: uuid('claim_token'),
  claimTimeoutMs: leaseMs('claim_timeout_ms'),
  enqueueId: uuid('enqueue_id'),
  progress: progress('progress'),
  progressNote: progressNote('progress_note'),
  lastError: errorText('last_error'),
  attemptLog: attemptLog('attempt_log').notNull().default(sql`'[]'::jsonb`),
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
    leaseMs: leaseMs('lease_ms'),
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
    index('dispatch_history_unsuccessful').on(table.outcome, table.id).where(sql`outcome <> 'completed'`),
    index('dispatch_history_enqueue_id').on(table.orchestratorId, table.enqueueId).where(sql`enqueue_id IS NOT NULL`),
    check('dispatch_history_outcome_known', sql`outcome IN ('completed', 'failed', 'cancelled')`),
  ],
)

/** The machines that have polled, one row per (orchestrator, machine). */
export const machines = pgTable(
  'machines',
  {
    orchestratorId: orchestratorId('orchestrator_id').notNull(),
    machineId: machineId('machine_id').notNull(),
    firstSeenAt: instant('first_seen_at').notNull().defaultNow(),
    lastSeenAt: instant('last_seen_at').notNull().defaultNow(),
    version: text('version'),
  },
  (table) => [primaryKey({ name: 'machines_pkey', columns: [table.orchestratorId, table.machineId] })],
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
