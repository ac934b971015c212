import { createLogUpdate } from 'log-update'
import ms from 'ms'
import pc from 'picocolors'
import { stored } from '@/lib/cli/table'
import type { ClaimEnd } from '@/lib/client/running-claim'
import type { WorkerEvent } from '@/lib/client/worker'

/** Tells a person or a program what a worker does. */
export interface Report {
  started(machineId: string): void
  event(event: WorkerEvent): void
  line(queueId: number, stream: 'stdout' | 'stderr', line: string): void
  close(): void
}

/** One JSON object a line: `{at, event, machineId, queueId, …}`. */
export function jsonReport(stdout: NodeJS.WriteStream): Report {
  let machineId = ''
  const write = (event: string, more: object) =>
    stdout.write(`${JSON.stringify({ at: new Date().toISOString(), event, machineId, ...more })}\n`)
  return {
    started: (name) => {
      machineId = name
      write('started', {})
    },
    event: ({ type, ...more }) => {
      if (type !== 'idle') write(type, 'error' in more ? { ...more, error: more.error.message } : flat(more))
    },
    line: (queueId, stream, text) => write('output', { queueId, stream, text }),
    close: () => write('stopped', {}),
  }
}

/** How a claim ended, beside the other facts. */
function flat(facts: object): object {
  if (!('end' in facts) || typeof facts.end !== 'object') return facts
  const { end, ...rest } = facts
  return {
    ...rest,
    ...end,
    ...(end !== null && 'error' in end && end.error instanceof Error && { error: end.error.message }),
  }
}

interface Line {
  attempts: number
  since: number
  progress: number | undefined
  note: string | undefined
}

const REDRAWN_EVERY_MS = 1_000

/** A line for each running claim, redrawn as it goes on, and one above them for each that has ended. */
export function liveReport(stdout: NodeJS.WriteStream): Report {
  const live = createLogUpdate(stdout)
  const lines = new Map<number, Line>()
  let headline = ''
  const draw = () => live([...[...lines].map(([id, line]) => running(id, line)), pc.dim(headline)].join('\n'))
  const above = (text: string) => {
    live.clear()
    stdout.write(`${text}\n`)
    draw()
  }
  const timer = setInterval(draw, REDRAWN_EVERY_MS)
  return {
    started: (name) => {
      headline = `${name} waits for work; Ctrl-C stops it`
      draw()
    },
    event: (event) => {
      const text = take(event, lines)
      if (text === undefined) draw()
      else above(text)
    },
    line: (queueId, _stream, text) => above(pc.dim(`#${queueId} ${stored(text)}`)),
    close: () => {
      clearInterval(timer)
      live.clear()
      live.done()
    },
  }
}

/** Takes an event in. @returns what is to be said of it above the running lines */
function take(event: WorkerEvent, lines: Map<number, Line>): string | undefined {
  switch (event.type) {
    case 'claimed':
      lines.set(event.queueId, { attempts: event.attempts, since: Date.now(), progress: undefined, note: undefined })
      return undefined
    case 'progress': {
      const line = lines.get(event.queueId)
      if (line) Object.assign(line, { progress: event.progress, note: event.note })
      return undefined
    }
    case 'lost':
      return pc.yellow(`#${event.queueId} is lost: ${event.reason}`)
    case 'ended': {
      const since = lines.get(event.queueId)?.since ?? Date.now()
      lines.delete(event.queueId)
      return `#${event.queueId} ${ending(event.end)} ${pc.dim(ms(Date.now() - since))}`
    }
    case 'disturbed':
      return pc.yellow(`${event.error.message} Trying again in ${ms(Math.round(event.retryInMs))}.`)
    case 'idle':
      return undefined
    case 'stopping':
      return event.running === 0
        ? undefined
        : `Stopping; ${event.running} still running. Ctrl-C once more does not wait.`
    default:
      return event satisfies never
  }
}

function running(queueId: number, { attempts, since, progress, note }: Line): string {
  const done = progress === undefined ? '' : ` ${pc.cyan(`${progress} %`)}`
  return `${pc.green('●')} #${queueId} attempt ${attempts}${done}${note === undefined ? '' : ` ${stored(note)}`} ${pc.dim(ms(Date.now() - since))}`
}

function ending(end: ClaimEnd): string {
  switch (end.how) {
    case 'completed':
      return pc.green('completed')
    case 'failed':
      return `${pc.red(end.isFinal ? 'failed for good' : 'failed, and is tried again')}: ${stored(end.error.split('\n')[0] ?? '')}`
    case 'released':
      return 'released'
    case 'lost':
      return pc.yellow(`lost: ${end.reason}`)
    case 'unreported':
      return pc.red(`could not be reported: ${end.error.message}`)
    default:
      return end satisfies never
  }
}
