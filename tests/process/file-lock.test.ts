import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import path from 'node:path'
import { expect, it } from 'vitest'
import { ROOT } from '@/lib/launch/root'
import { tryLock } from '@/lib/process/file-lock'
import { identityOf } from '@/lib/process/process-identity'
import { testDirectory } from '../launch/launcher'

it('a living holder is named to whoever comes, and loses the lock only by releasing it', async () => {
  const file = path.join(testDirectory(), 'lock')
  const first = await tryLock(file)
  expect(await tryLock(file)).toMatchObject({ heldBy: { pid: process.pid } })
  if ('release' in first) first.release()
  expect(existsSync(file)).toBe(false)
  expect(await tryLock(file)).toHaveProperty('release')
})

it('the lock of a dead process is taken over', async () => {
  const file = path.join(testDirectory(), 'lock')
  writeFileSync(file, JSON.stringify({ ...identityOf(process.pid), pid: await deadPid() }))
  expect(await tryLock(file)).toHaveProperty('release')
})

it('the lock of a dead process is taken over even when another process has its id now', async () => {
  const file = path.join(testDirectory(), 'lock')
  writeFileSync(file, JSON.stringify({ ...identityOf(process.pid), startedAt: 'another time' }))
  expect(await tryLock(file)).toHaveProperty('release')
})

it('a lock whose holder was killed before it had written its name is taken over', async () => {
  const file = path.join(testDirectory(), 'lock')
  writeFileSync(file, '')
  expect(await tryLock(file)).toHaveProperty('release')
})

it('a holder on another host, who cannot be seen, keeps the lock', async () => {
  const file = path.join(testDirectory(), 'lock')
  const elsewhere = { ...identityOf(process.pid), pid: await deadPid(), host: `not-${hostname()}` }
  writeFileSync(file, JSON.stringify(elsewhere))
  expect(await tryLock(file)).toEqual({ heldBy: elsewhere })
})

it("of four processes that find a dead holder's lock at once, exactly one takes it over", async () => {
  const file = path.join(testDirectory(), 'lock')
  writeFileSync(file, JSON.stringify({ ...identityOf(process.pid), pid: await deadPid() }))
  const racers = Array.from({ length: 4 }, () => race(file))
  await Promise.all(racers.map(({ ready }) => ready))
  for (const { go } of racers) go()
  const results = await Promise.all(racers.map(({ result }) => result))
  expect(results.filter((result) => result === 'release')).toHaveLength(1)
  expect(results.filter((result) => result === 'heldBy')).toHaveLength(3)
  for (const { end } of racers) end()
  expect(readdirSync(path.dirname(file))).toEqual(['lock'])
  expect(readFileSync(file, 'utf8')).not.toBe('')
})

async function deadPid(): Promise<number> {
  const child = spawn(process.execPath, ['-e', ''])
  await new Promise((resolve) => child.once('exit', resolve))
  return child.pid ?? 0
}

/** A process that tries for the lock when told to go, says what it got, and lives until told to end. */
function race(file: string) {
  const code = `
    import { tryLock } from '${path.join(ROOT, 'lib/process/file-lock.ts')}'
    process.stdout.write('ready,')
    process.stdin.once('data', async () => process.stdout.write(Object.keys(await tryLock(${JSON.stringify(file)}))[0] + ','))
  `
  const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', code], { cwd: ROOT })
  let output = ''
  const said = (count: number) =>
    new Promise<string | undefined>((resolve) => {
      child.stdout.on('data', () => {
        if (output.split(',').length > count) resolve(output.split(',')[count - 1])
      })
    })
  child.stdout.on('data', (data) => {
    output += data
  })
  return { ready: said(1), result: said(2), go: () => child.stdin.write('go'), end: () => child.kill('SIGKILL') }
}
