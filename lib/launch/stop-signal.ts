import { commandLine, parentOf } from '@/lib/process/processes'

const CHECK_INTERVAL_MS = 250

/**
 * Becomes aborted when this process is asked to stop: by a signal, or, where npm started it, by npm's death, since a
 * killed npm passes nothing on. Elsewhere the parent may go: who starts a server in the background does.
 */
export function stopSignal(isUnderNpm: boolean): AbortSignal {
  const controller = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => controller.abort())
  if (isUnderNpm) {
    const isOrphaned = watchNpm()
    setInterval(() => isOrphaned() && controller.abort(), CHECK_INTERVAL_MS).unref()
  }
  return controller.signal
}

/** npm runs a script through a shell, which may stay between the two and outlive npm. */
function watchNpm(): () => boolean {
  const parent = process.ppid
  const isShell = / -c /.test(commandLine(parent) ?? '')
  const npm = isShell ? parentOf(parent) : undefined
  return () => process.ppid !== parent || (npm !== undefined && parentOf(parent) !== npm)
}
