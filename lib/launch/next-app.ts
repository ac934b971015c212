import type { App } from '@/lib/launch/app-process'
import { ensureBuilt, isBuilt, nextProgram } from '@/lib/launch/build'
import { say } from '@/lib/launch/say'

export type Mode = 'start' | 'dev'

/** The Next app: as built, or, in development, compiled as it is asked for. */
export function nextApp(mode: Mode): App {
  return {
    args: (host, port) => [nextProgram(), mode, '-H', host, '-p', String(port)],
    environment: { NODE_ENV: mode === 'start' ? 'production' : 'development', NEXT_TELEMETRY_DISABLED: '1' },
    prepare: (signal) => (mode === 'start' ? build(signal) : Promise.resolve()),
  }
}

async function build(signal: AbortSignal): Promise<void> {
  if (!isBuilt()) say('Building the app; this takes a quarter of a minute or so.')
  await ensureBuilt(signal)
}
