import { expect, test } from 'vitest'
import { allFaults } from '@/lib/prove/faults'
import { runFleet } from '@/lib/prove/fleet'
import { reportOf } from '@/lib/prove/report'
import { setUpServed } from '../app/served'
import { ADMIN_KEY } from '../http/instance'

const { app } = await setUpServed({ DISPATCH_SWEEP_INTERVAL_MS: '500' })

test('machines that die, pause, lose answers, send twice and late, and misread the clock, never see the queue break a promise', async () => {
  const result = await runFleet({
    url: app.url,
    key: ADMIN_KEY,
    machines: 20,
    items: 300,
    limitMs: 60_000,
    leaseMs: 2_000,
    faults: new Set(allFaults),
  })
  const report = reportOf(result)
  expect(report.violations).toStrictEqual([])
  // Those of the fleet, and those that one machine by itself takes in order.
  expect(report.work.enqueued).toBe(300 + 60)
  for (const fault of allFaults) expect(report.faults[fault], fault).toBeGreaterThan(0)
})
