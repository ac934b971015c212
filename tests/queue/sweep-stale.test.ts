import { describe, expect, test } from 'vitest'
import { sweepUntilClean } from '@/lib/queue/sweep-and-prune'
import { sweepStale } from '@/lib/queue/sweep-stale'
import { setUpDatabase } from '../support/db'
import { ago, ahead, allRows, insertClaimed, insertWork, onlyRow } from '../support/factories'
import { mustClaim } from './holders'
import { claimNextOf, expireAll, insertMany } from './rows'

const { db, sql } = await setUpDatabase()
const sweep = () => sweepStale(db, { batch: 1_000 })
const stale = { claimExpiresAt: ago('1 second') }
const leaseExpired = 'The lease expired: the machine did not renew its claim in time.'

describe('the sweep', () => {
  test('puts an abandoned claim back for anyone: its place, token, attempts and all else as they were', async () => {
    const { queueId } = await insertClaimed(sql, {
      ...stale,
      priority: -3,
      dedupeKey: 'ENG-1',
      availableAt: ago('1 day'),
    })
    const { claimed_at, claim_expires_at, attempt_log, ...before } = await onlyRow(sql, queueId)
    expect(await sweep()).toStrictEqual({ released: 1, failed: 0, unsweepable: 0 })
    const after = await onlyRow(sql, queueId)
    expect(after).toStrictEqual({ ...before, claimed_at: null, claim_expires_at: null, attempt_log: after.attempt_log })
    expect(after.attempt_log).toMatchObject([{ attempt: 1, how: 'expired', error: leaseExpired }])
    expect([claimed_at, claim_expires_at, attempt_log]).not.toContain(null)
  })

  test('fails what had its last attempt for good, and says why', async () => {
    const { queueId, claimToken } = await insertClaimed(sql, { ...stale, attempts: 2, maxAttempts: 2 })
    expect(await sweep()).toStrictEqual({ released: 0, failed: 1, unsweepable: 0 })
    expect(await allRows(sql, queueId)).toMatchObject({
      queue: [],
      history: [
        {
          outcome: 'failed',
          last_error: leaseExpired,
          claim_token: claimToken,
          attempt_log: [{ attempt: 2, how: 'expired', error: leaseExpired }],
        },
      ],
    })
  })

  test('touches no claim whose lease runs, be it as fresh as can be, and nothing that is not claimed', async () => {
    const rows = [
      await insertWork(sql),
      await insertWork(sql, { availableAt: ahead('1 hour') }),
      await insertClaimed(sql, { claimExpiresAt: ahead('1 minute') }),
      await mustClaim(db, await insertWork(sql)),
    ]
    const before = await Promise.all(rows.map(({ queueId }) => allRows(sql, queueId)))
    for (let n = 0; n < 5; n += 1) expect(await sweep()).toStrictEqual({ released: 0, failed: 0, unsweepable: 0 })
    expect(await Promise.all(rows.map(({ queueId }) => allRows(sql, queueId)))).toStrictEqual(before)
  })

  test('judges every row by its own expiry, whoever’s it is', async () => {
    const short = await insertClaimed(sql, { ...stale, leaseMs: 1_000 })
    const long = await insertClaimed(sql, {
      leaseMs: 86_400_000,
      claimedAt: ago('23 hours'),
      claimExpiresAt: ahead('1 hour'),
    })
    await sweep()
    expect(await onlyRow(sql, short.queueId)).toMatchObject({ claimed_at: null })
    expect(await onlyRow(sql, long.queueId)).toMatchObject({ claim_token: long.claimToken, lease_ms: 86_400_000 })
    expect((await onlyRow(sql, long.queueId)).claimed_at).not.toBeNull()
  })

  test('takes a batch at a time, the longest over first', async () => {
    const old = await insertClaimed(sql, { claimExpiresAt: ago('2 hours') })
    const recent = await insertClaimed(sql, stale)
    expect(await sweepStale(db, { batch: 1 })).toMatchObject({ released: 1 })
    expect(await onlyRow(sql, old.queueId)).toMatchObject({ claimed_at: null })
    expect((await onlyRow(sql, recent.queueId)).claimed_at).not.toBeNull()
    await sweep()
  })
})

test('sweeping until clean frees any number in batches; with no time left it says that there is more', async () => {
  const orchestratorId = await insertMany(sql, 1_800)
  await claimNextOf(db, orchestratorId, { limit: 1_800 })
  await expireAll(sql, orchestratorId)
  expect(await sweepUntilClean(db, 0)).toStrictEqual({ released: 0, failed: 0, unsweepable: 0, more: true })
  expect(await sweepUntilClean(db, 20_000)).toStrictEqual({ released: 1_800, failed: 0, unsweepable: 0, more: false })
})

test('a row that cannot be swept holds back no other, and is counted', async () => {
  await sql('DELETE FROM dispatch_queue WHERE claimed_at IS NOT NULL')
  const [poison, rest] = [await insertMany(sql, 10), await insertMany(sql, 40)]
  for (const orchestratorId of [poison, rest]) {
    await claimNextOf(db, orchestratorId, { limit: 150 })
    await expireAll(sql, orchestratorId)
  }
  await sql(`UPDATE dispatch_queue SET claim_expires_at = now() - interval '1 day' WHERE orchestrator_id = $1`, [
    poison,
  ])
  await sql(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'unsweepable'; END $$`)
  await sql(
    `CREATE TRIGGER refuse BEFORE UPDATE ON dispatch_queue FOR EACH ROW
     WHEN (OLD.orchestrator_id = '${poison}' AND NEW.claimed_at IS NULL) EXECUTE FUNCTION refuse()`,
  )
  expect(await sweepStale(db, { batch: 50 })).toStrictEqual({ released: 40, failed: 0, unsweepable: 10 })
  expect(await sweepUntilClean(db, 20_000)).toStrictEqual({ released: 0, failed: 0, unsweepable: 10, more: false })
  await sql('DROP TRIGGER refuse ON dispatch_queue')
  expect(await sweep()).toMatchObject({ released: 10, unsweepable: 0 })
})
