import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test, vi } from 'vitest'
import { isAlive } from '@/lib/process/processes'
import { setUpServed } from '../app/served'
import { ADMIN_KEY, newOrchestrator } from '../http/instance'
import { expireClaim, insertWork, onlyRow } from '../support/factories'
import { home, script, startWork } from './dispatch'

const { app, database, send } = await setUpServed({ DISPATCH_SWEEP_INTERVAL_MS: '500' })
const { sql } = database

async function setUpMachines() {
  const { orchestratorId, key } = await newOrchestrator(sql)
  const { queueId } = await insertWork(sql, { orchestratorId })
  const env = { DISPATCH_URL: app.url, DISPATCH_KEY: key, XDG_CONFIG_HOME: path.join(home, `config-${queueId}`) }
  const start = (machine: string, options: string[], ...command: string[]) =>
    startWork(['--orchestrator', orchestratorId, '--machine', machine, ...options, '--', ...command], { env })
  return { orchestratorId, queueId, key, start, row: () => onlyRow(sql, queueId) }
}

let numbered = 0

/** A command that starts a child of its own and waits for it, deaf to SIGTERM if told; `pids` gives both once they run. */
function longCommand({ isDeaf = false } = {}) {
  numbered += 1
  const file = path.join(home, `pids-${numbered}`)
  const body = `${isDeaf ? "trap '' TERM\n" : ''}sleep 60 & echo "$$ $!" > "${file}.new"; mv "${file}.new" "${file}"; wait`
  const pids = () => vi.waitFor(() => readFileSync(file, 'utf8').trim().split(' ').map(Number), { timeout: 20_000 })
  return { command: script(body), pids }
}

const areGone = (pids: readonly number[]) =>
  expect.poll(() => pids.filter(isAlive), { timeout: 20_000 }).toStrictEqual([])

test('SIGTERM: what ends within the grace time is completed, and nothing more is claimed', async () => {
  const { orchestratorId, start, row } = await setUpMachines()
  const go = path.join(home, `go-${orchestratorId}`)
  const worker = start('laptop', ['--grace', '30s'], script(`while [ ! -e "${go}" ]; do sleep 0.05; done`))
  await worker.until(({ event }) => event === 'claimed')
  const waiting = await insertWork(sql, { orchestratorId })
  worker.signal('SIGTERM')
  writeFileSync(go, '')
  expect(await worker.exited).toBe(0)
  expect(await row()).toMatchObject({ outcome: 'completed' })
  expect(await onlyRow(sql, waiting.queueId)).toMatchObject({ attempts: 0 })
})

test('SIGTERM: what does not end in time is given back with its attempt, no process is left, and another machine has it at once', async () => {
  const { start, row, queueId } = await setUpMachines()
  const { command, pids } = longCommand({ isDeaf: true })
  const laptop = start('laptop', ['--grace', '200ms', '--kill-after', '300ms'], command)
  const processes = await pids()
  const desktop = start('desktop', [], 'true')
  await desktop.until(({ event }) => event === 'started')
  laptop.signal('SIGTERM')
  expect(await laptop.exited).toBe(0)
  await areGone(processes)
  await desktop.until(({ event, queueId: id }) => event === 'ended' && id === queueId)
  expect(await row()).toMatchObject({ outcome: 'completed', claimed_by: 'desktop', attempts: 1 })
})

test('a second SIGTERM does not wait for the grace time', async () => {
  const { start, row } = await setUpMachines()
  const { command, pids } = longCommand({ isDeaf: true })
  const worker = start('laptop', ['--grace', '1h', '--kill-after', '10m'], command)
  const processes = await pids()
  worker.signal('SIGTERM')
  await worker.until(({ event }) => event === 'stopping')
  worker.signal('SIGTERM')
  expect(await worker.exited).toBe(0)
  await areGone(processes)
  expect(await row()).toMatchObject({ claimed_at: null, attempts: 0 })
})

test.each(['cancelled', 'released'] as const)(
  'a claim that a person has %s ends the command and all that it started',
  async (how) => {
    const { start, queueId } = await setUpMachines()
    const { command, pids } = longCommand()
    const worker = start('laptop', ['--lease', '2s'], command)
    const processes = await pids()
    await send('POST', `/api/work/${queueId}/${how === 'cancelled' ? 'cancel' : 'release'}`, { key: ADMIN_KEY })
    expect(await worker.until(({ event }) => event === 'lost')).toMatchObject({ queueId, reason: how })
    await areGone(processes)
  },
)

test('a machine that slept past its lease, while another took the work, stops at once and completes nothing', async () => {
  const { start, row, queueId } = await setUpMachines()
  const { command, pids } = longCommand()
  const laptop = start('laptop', ['--lease', '1s'], command)
  const processes = await pids()
  laptop.signal('SIGSTOP')
  await expireClaim(sql, queueId)
  const desktop = start('desktop', [], script('echo 2'))
  await desktop.until(({ event, queueId: id }) => event === 'ended' && id === queueId)
  laptop.signal('SIGCONT')
  expect(await laptop.until(({ event }) => event === 'lost')).toMatchObject({ queueId, reason: 'completed' })
  await areGone(processes)
  expect(await row()).toMatchObject({ outcome: 'completed', claimed_by: 'desktop', result: 2, attempts: 2 })
})

test('a revoked key ends the worker with a sentence and its exit code, and the command with it', async () => {
  const { start } = await setUpMachines()
  const { command, pids } = longCommand()
  const worker = start('laptop', ['--lease', '2s'], command)
  const processes = await pids()
  const [{ id } = { id: '' }] = await sql<{ id: string }>('SELECT id FROM api_keys ORDER BY created_at DESC LIMIT 1')
  await send('DELETE', `/api/keys/${id}`, { key: ADMIN_KEY })
  expect(await worker.exited).toBe(3)
  expect(worker.stderr()).toMatch(/^error .*key/)
  await areGone(processes)
})

test('two workers with one name on one host are two machines; the name is free again when its worker has gone, however it went', async () => {
  const { start } = await setUpMachines()
  const [one, two] = [start('laptop', [], 'true'), start('laptop', [], 'true')]
  const names = [
    await one.until(({ event }) => event === 'started'),
    await two.until(({ event }) => event === 'started'),
  ]
  expect(names.map(({ machineId }) => machineId).sort()).toStrictEqual(['laptop', 'laptop-2'])
  for (const worker of [one, two]) worker.signal('SIGKILL')
  await Promise.all([one.exited, two.exited])
  expect(await start('laptop', [], 'true').until(({ event }) => event === 'started')).toMatchObject({
    machineId: 'laptop',
  })
})

test('a worker that was killed and starts again goes on with what it held, in the same attempt', async () => {
  const { start, row, queueId } = await setUpMachines()
  const { command, pids } = longCommand()
  const killed = start('laptop', [], command)
  const processes = await pids()
  killed.signal('SIGKILL')
  await killed.exited
  for (const pid of processes) process.kill(pid, 'SIGKILL')
  const again = start('laptop', [], script('echo 3'))
  expect(await again.until(({ event }) => event === 'claimed')).toMatchObject({ queueId, isResumed: true, attempts: 1 })
  await again.until(({ event }) => event === 'ended')
  expect(await row()).toMatchObject({ outcome: 'completed', result: 3, attempts: 1 })
})
