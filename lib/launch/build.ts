import { existsSync, mkdirSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { environmentWith } from '@/lib/config'
import { bundle } from '@/lib/launch/bundle'
import { ROOT } from '@/lib/launch/root'
import { spawnWatched } from '@/lib/launch/watched-process'
import { tryLock } from '@/lib/process/file-lock'

/** What the build is made of; a name that does not exist is passed over. */
const SOURCES = [
  'app',
  'lib',
  'drizzle',
  'public',
  'instrumentation.ts',
  'next.config.ts',
  'postcss.config.mjs',
  'postcss.config.ts',
  'proxy.ts',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
]
const BUILD_ID = path.join(ROOT, '.next', 'BUILD_ID')
// The build empties .next, but for its cache.
const LOCK = path.join(ROOT, '.next', 'cache', 'build.lock')
const UNFINISHED = path.join(ROOT, '.next', 'cache', 'build.unfinished')

/**
 * Builds the app unless there is a build newer than all its sources. Of several processes at once one builds, and the
 * others wait for it.
 *
 * @param output where the build's own output goes: this process's, or a file descriptor
 * @throws {Error} when the app does not build; the build's output says why
 */
export async function ensureBuilt(
  signal?: AbortSignal,
  output: 'inherit' | number = 'inherit',
): Promise<'built' | 'fresh'> {
  if (isBuilt()) return 'fresh'
  const lock = await lockBuild(signal)
  try {
    if (isBuilt()) return 'fresh'
    await bundle()
    const startedAt = new Date()
    // Next writes its BUILD_ID before it is done: without a mark a build that was killed would pass for one.
    writeFileSync(UNFINISHED, '')
    await build(signal, output)
    // A source that was saved during the build may not be in it.
    utimesSync(BUILD_ID, startedAt, startedAt)
    rmSync(UNFINISHED, { force: true })
    return 'built'
  } finally {
    lock.release()
  }
}

/** Whether there is a whole build, newer than all the app's sources. */
export function isBuilt(): boolean {
  const sources = SOURCES.map((source) => path.join(ROOT, source))
  return !existsSync(UNFINISHED) && isFresh(BUILD_ID, sources)
}

async function lockBuild(signal?: AbortSignal): Promise<{ release: () => void }> {
  mkdirSync(path.dirname(LOCK), { recursive: true })
  for (;;) {
    const attempt = await tryLock(LOCK)
    if ('release' in attempt) return attempt
    await sleep(200, undefined, signal && { signal })
  }
}

/** Whether a build is newer than every one of its sources. Directories count: their time tells that a file was removed. */
export function isFresh(buildId: string, sources: readonly string[]): boolean {
  if (!existsSync(buildId)) return false
  const builtAt = statSync(buildId).mtimeMs
  return sources.every((source) => newest(source) < builtAt)
}

function newest(file: string): number {
  const stat = statSync(file, { throwIfNoEntry: false })
  if (!stat) return 0
  if (!stat.isDirectory()) return stat.mtimeMs
  return Math.max(stat.mtimeMs, ...readdirSync(file).map((name) => newest(path.join(file, name))))
}

async function build(signal: AbortSignal | undefined, output: 'inherit' | number): Promise<void> {
  const child = spawnWatched(
    { command: process.execPath, args: [nextProgram(), 'build'], stopBy: [{ signal: 'SIGKILL', afterMs: 0 }] },
    { output, cwd: ROOT, env: environmentWith({ NODE_ENV: 'production', NEXT_TELEMETRY_DISABLED: '1' }) },
  )
  const stop = () => void child.stop()
  signal?.addEventListener('abort', stop)
  const code = await child.exited
  signal?.removeEventListener('abort', stop)
  signal?.throwIfAborted()
  if (code !== 0) throw new Error('The app does not build; the lines above say why.')
}

/** Next's own program: run through npm or npx it would not get our signals. */
export function nextProgram(): string {
  return path.join(path.dirname(createRequire(import.meta.url).resolve('next/package.json')), 'dist', 'bin', 'next')
}
