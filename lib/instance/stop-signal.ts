const stops = new Set<() => void>()

/** Has something done as soon as this process is asked to stop, while requests that it is answering go on to their end. */
export function untilStopped(stop: () => void): void {
  if (stops.size === 0) for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, () => stopAll(name))
  stops.add(stop)
}

function stopAll(name: NodeJS.Signals): void {
  for (const stop of stops) stop()
  // Nobody else listens: the signal has to end the process, as it would have without this listener.
  if (process.listenerCount(name) === 0) process.kill(process.pid, name)
}
