import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import { environmentWith } from '@/lib/config'
import { freePort } from '@/lib/launch/free-port'
import { ROOT } from '@/lib/launch/root'

export interface DemoServer {
  url: string
  adminKey: string
  signInLink: string
  /** Where the demonstration keeps what it needs; removed at its end. */
  directory: string
  stop(): Promise<void>
}

/** Starts what `npm start` starts, on a database of its own and a free port. @throws {Error} with what the start said */
export async function startServer(): Promise<DemoServer> {
  const parent = path.join(ROOT, '.dispatch-demo')
  // Postgres's user has to pass through where root runs this.
  mkdirSync(parent, { recursive: true, mode: 0o755 })
  const directory = mkdtempSync(path.join(parent, 'run-'))
  const port = await freePort()
  const env = environmentWith({
    DISPATCH_DATA_DIR: path.join(directory, 'data'),
    XDG_CONFIG_HOME: path.join(directory, 'config'),
    DISPATCH_SWEEP_INTERVAL_MS: '1000',
    PORT: `${port}`,
  })
  const child = spawn(process.execPath, ['--import', 'tsx', 'lib/launch/main.ts', 'start'], {
    cwd: ROOT,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  const output = await untilStarted(child)
  const stop = async () => {
    if (child.exitCode === null) {
      child.kill('SIGTERM')
      await once(child, 'exit')
    }
    rmSync(directory, { recursive: true, force: true })
  }
  return {
    url: `http://127.0.0.1:${port}`,
    adminKey: readFileSync(path.join(directory, 'data', 'admin-key'), 'utf8').trim(),
    signInLink: /sign in +(\S+)/.exec(output)?.[1] ?? '',
    directory,
    stop,
  }
}

function untilStarted(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = ''
    const take = (data: Buffer) => {
      output += data
      if (output.includes('Ctrl-C stops it')) resolve(output)
    }
    child.stdout?.on('data', take)
    child.stderr?.on('data', take)
    child.once('exit', (code) => reject(new Error(`The server ended with exit code ${code}:\n${output}`)))
  })
}
