import { Pool } from 'pg'
import { type Contestant, drainBy, loadBy, payload, type Ways } from './contestant'

const CLAIM = `UPDATE dispatch_queue
   SET claimed_at = now(), claimed_by = $2, claim_token = gen_random_uuid(), attempts = attempts + 1, lease_ms = 1800000,
       claim_expires_at = now() + interval '30 minutes', progress = NULL, progress_note = NULL
 WHERE id = (SELECT id FROM dispatch_queue
              WHERE orchestrator_id = $1 AND claimed_at IS NULL AND available_at <= now()
              ORDER BY priority, available_at, id LIMIT 1 FOR UPDATE SKIP LOCKED)
   AND claimed_at IS NULL
RETURNING id, payload::text, claim_token, attempts, claimed_at, claim_expires_at, lease_ms`

const COMPLETE = `WITH done AS (
  DELETE FROM dispatch_queue WHERE id = $2 AND orchestrator_id = $1 AND claim_token = $3 RETURNING *
)
INSERT INTO dispatch_history (id, orchestrator_id, payload, priority, dedupe_key, attempts, max_attempts, available_at, created_at,
                              claimed_at, claimed_by, claim_token, claim_timeout_ms, enqueue_id, progress, progress_note,
                              last_error, attempt_log, outcome, result, finished_at)
SELECT id, orchestrator_id, payload, priority, dedupe_key, attempts, max_attempts, available_at, created_at,
       claimed_at, claimed_by, claim_token, claim_timeout_ms, enqueue_id, progress, progress_note,
       last_error, attempt_log || jsonb_build_object('attempt', attempts, 'machine', claimed_by, 'how', 'completed'),
       'completed', NULL, now()
  FROM done RETURNING id`

/** The two statements of the essay's queue, prepared by hand: what the driver and Postgres allow, without any code of ours. */
export function byHand(url: string, poolSize: number): Contestant {
  const pool = new Pool({ connectionString: url, max: poolSize })

  const ways: Ways<{ id: string; claim_token: string }> = {
    take: async () => (await pool.query({ name: 'claim', text: CLAIM, values: ['acme', 'laptop'] })).rows,
    finish: async (rows) => {
      const values = ['acme', rows[0]?.id, rows[0]?.claim_token]
      return (await pool.query({ name: 'complete', text: COMPLETE, values })).rowCount ?? 0
    },
  }

  return {
    setUp: async () => {},
    enqueue: async (count, batch) => {
      const text = `INSERT INTO dispatch_queue (orchestrator_id, payload) SELECT 'acme', $1::jsonb FROM generate_series(1, $2::int)`
      for (let done = 0; done < count; done += batch) {
        await pool.query({ name: 'enqueue', text, values: [JSON.stringify(payload), Math.min(batch, count - done)] })
      }
    },
    drain: (drain) => drainBy(ways, drain),
    load: (load) => loadBy(ways, load),
    close: () => pool.end(),
  }
}
