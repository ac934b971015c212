import type { Sql } from '../support/db'
import { ago, ahead, insertClaimed, insertFinished, insertWork } from '../support/factories'

export const hostile = '<script>document.title = "owned"</script><img src=x onerror="document.title=1">\u202e'

export const clear = (sql: Sql) => sql('TRUNCATE dispatch_queue, dispatch_history, machines, api_keys')

/** A queue as one may look on a working day. */
export async function seed(sql: Sql) {
  await clear(sql)
  const acme = { orchestratorId: 'acme' }
  const held = await insertClaimed(sql, {
    ...acme,
    payload: { issue: 'ENG-142', title: 'Fix the login' },
    dedupeKey: 'ENG-142',
    claimedBy: 'laptop-of-ada',
    claimedAt: ago('3 minutes'),
    claimExpiresAt: ahead('12 minutes'),
    progress: 40,
    progressNote: 'running tests',
  })
  const stale = await insertClaimed(sql, {
    ...acme,
    payload: { issue: 'ENG-139' },
    dedupeKey: 'ENG-139',
    claimedBy: 'desktop-7',
    claimedAt: ago('40 minutes'),
    claimExpiresAt: ago('10 minutes'),
  })
  const scheduled = await insertWork(sql, {
    ...acme,
    payload: { issue: 'ENG-160' },
    dedupeKey: 'ENG-160',
    availableAt: ahead('2 hours'),
  })
  const ahead1 = await insertWork(sql, {
    ...acme,
    payload: { issue: 'ENG-149' },
    dedupeKey: 'ENG-149',
    availableAt: ago('9 minutes'),
  })
  const queued = await insertWork(sql, {
    ...acme,
    payload: { issue: 'ENG-150' },
    dedupeKey: 'ENG-150',
    availableAt: ago('8 minutes'),
  })
  await insertWork(sql, { orchestratorId: 'globex', payload: { hostile }, availableAt: ago('20 minutes') })
  const failed = await insertFinished(sql, {
    ...acme,
    payload: { issue: 'ENG-137' },
    dedupeKey: 'ENG-137',
    claimedBy: 'ci-4',
    outcome: 'failed',
    attempts: 3,
    lastError: 'Error: 3 of 214 tests failed',
    attemptLog: [
      {
        attempt: 1,
        machine: 'desktop-7',
        claimedAt: '2026-12-01T09:00:00.000Z',
        endedAt: '2026-12-01T09:20:00.000Z',
        how: 'expired',
        error: null,
      },
      {
        attempt: 2,
        machine: 'laptop-of-ada',
        claimedAt: '2026-12-01T09:21:00.000Z',
        endedAt: '2026-12-01T09:25:00.000Z',
        how: 'failed',
        error: 'Error: out of disk',
      },
      {
        attempt: 3,
        machine: 'ci-4',
        claimedAt: '2026-12-01T09:30:00.000Z',
        endedAt: '2026-12-01T09:34:10.000Z',
        how: 'failed',
        error: 'Error: 3 of 214 tests failed',
      },
    ],
  })
  await insertFinished(sql, { ...acme, outcome: 'cancelled', payload: { issue: 'ENG-101' } })
  await sql(
    `INSERT INTO dispatch_history (id, orchestrator_id, payload, attempts, outcome, claimed_by, created_at, available_at, claimed_at, finished_at)
     SELECT nextval('dispatch_queue_id_seq'), 'acme', jsonb_build_object('issue', 'OPS-' || n), 1,
            CASE WHEN n % 17 = 0 THEN 'failed' ELSE 'completed' END, (ARRAY['laptop-of-ada', 'ci-4', 'desktop-7'])[1 + n % 3],
            at - interval '5 minutes', at - interval '4 minutes', at - interval '3 minutes' - (n % 7) * interval '9 seconds', at
       FROM generate_series(1, 400) AS n,
            LATERAL (SELECT now() - (n * n % 3600) * interval '1 second' AS at) AS times`,
  )
  await sql(
    `INSERT INTO machines (orchestrator_id, machine_id, version, last_seen_at)
     VALUES ('acme', 'laptop-of-ada', '0.1.0', now() - interval '4 seconds'), ('acme', 'ci-4', '0.1.0', now() - interval '12 seconds'),
            ('acme', 'desktop-7', '0.0.9', now() - interval '22 minutes')`,
  )
  return { held, stale, scheduled, ahead1, queued, failed }
}
