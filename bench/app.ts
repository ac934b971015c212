import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { startInstance } from '@/lib/chaos/instance'
import { ensureBuilt } from '@/lib/launch/build'

export interface BenchApp {
  readonly url: string
  readonly key: string
  readonly headers: Record<string, string>
  /** Of the process that serves. */
  pid(): Promise<number>
  stop(): Promise<void>
}

/** Starts instances of the built app on a database. */
export async function startApps(databaseUrl: string, count = 1): Promise<BenchApp[]> {
  const signal = new AbortController().signal
  await ensureBuilt(signal, process.stderr.fd)
  const key = randomBytes(24).toString('base64url')
  const directory = mkdtempSync(path.join(tmpdir(), 'dispatch-bench-'))
  const settings = {
    DATABASE_URL: databaseUrl,
    DISPATCH_ADMIN_KEY: key,
    DISPATCH_LOG_LEVEL: 'error',
    DISPATCH_MAX_WAITERS: '20000',
  }
  const instances = await Promise.all(
    Array.from({ length: count }, (_, n) => startInstance(path.join(directory, `app-${n}.log`), settings, signal)),
  )
  return instances.map((instance) => ({
    url: `http://127.0.0.1:${instance.port}`,
    key,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    pid: async () => {
      const pid = await instance.pid()
      if (pid === undefined) throw new Error('The instance does not run.')
      return pid
    },
    stop: async () => {
      await instance.stop()
      rmSync(directory, { recursive: true, force: true })
    },
  }))
}
