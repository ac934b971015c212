import { createReadStream, statSync } from 'node:fs'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { SingleBar } from 'cli-progress'
import type { Command } from 'commander'
import { UsageError } from '@/lib/cli/exit-codes'
import { type ConnectionFlags, type Context, clientOf, connectedCommand, duration, whole } from '@/lib/cli/program'
import type { DispatchClient } from '@/lib/client/dispatch-client'

interface EnqueueFlags extends ConnectionFlags {
  orchestrator: string
  file?: string
  ndjson?: boolean
  priority?: number
  dedupeKey?: string
  delay?: number
  maxAttempts?: number
  lease?: number
}

interface Payload {
  payload: unknown
  /** Of its JSON. */
  bytes: number
}

const MAX_ITEMS = 1_000
const MAX_BYTES = 2_500_000

/** `dispatch enqueue`: puts work in, from arguments, a file or standard input; many lines go in batches. */
export function enqueueCommand(context: Context): Command {
  return connectedCommand('enqueue', 'put work into the queue', [
    `enqueue --orchestrator acme '{"issue":"ENG-142"}'`,
    'enqueue --orchestrator acme --dedupe-key ENG-142 --delay 10m --file issue.json',
    'enqueue --orchestrator acme --ndjson < issues.ndjson',
  ])
    .requiredOption('--orchestrator <id>', 'whose work it is')
    .option('--file <path>', 'read the payload from a file; - is standard input')
    .option('--ndjson', 'each line of the file or of standard input is a payload')
    .option('--priority <n>', 'lower runs sooner', whole(-1_000, 1_000))
    .option('--dedupe-key <key>', 'for one payload: at most one live piece of work has it')
    .option('--delay <duration>', 'not before that', duration(0, 31 * 86_400_000))
    .option('--max-attempts <n>', 'after so many claims a failure is final', whole(1, 100))
    .option('--lease <duration>', 'of each claim, unless the claim names one', duration(1_000, 86_400_000))
    .argument('[payloads...]', 'payloads in JSON')
    .action((payloads: string[], flags: EnqueueFlags) => enqueue(payloads, flags, context))
}

async function enqueue(args: string[], flags: EnqueueFlags, context: Context): Promise<void> {
  const client = clientOf(flags, context)
  const bar = progressBar(flags, context)
  let done = 0
  try {
    for await (const batch of batches(payloadsOf(args, flags, context))) {
      if (flags.dedupeKey !== undefined && (batch.length > 1 || done > 0)) {
        throw new UsageError(
          '--dedupe-key is for one payload: of several with one key all but the first would be left out.',
        )
      }
      await send(client, batch, flags, context)
      done += batch.length
      bar?.increment(batch.reduce((sum, { bytes }) => sum + bytes + 1, 0))
    }
  } catch (error) {
    if (done > 0) context.stderr.write(`${done} were put in before this:\n`)
    throw error
  } finally {
    bar?.stop()
  }
  if (done === 0)
    throw new UsageError('There is no payload: give one as an argument, with --file, or on standard input.')
}

async function send(
  client: DispatchClient,
  batch: readonly Payload[],
  flags: EnqueueFlags,
  { stdout }: Context,
): Promise<void> {
  const options = {
    priority: flags.priority,
    dedupeKey: flags.dedupeKey,
    delayMs: flags.delay,
    maxAttempts: flags.maxAttempts,
    claimTimeoutMs: flags.lease,
  }
  const items = batch.map(({ payload }) => ({ payload, ...options }))
  const answer = await client.enqueue({ orchestratorId: flags.orchestrator, items })
  for (const item of answer.items) {
    if (flags.json) stdout.write(`${JSON.stringify(item)}\n`)
    else stdout.write(item.enqueued ? `${item.queueId}\n` : `${item.queueId} was there already\n`)
  }
}

/** As many as one call takes. */
async function* batches(payloads: AsyncIterable<Payload>): AsyncGenerator<Payload[]> {
  let batch: Payload[] = []
  let bytes = 0
  for await (const payload of payloads) {
    if (batch.length === MAX_ITEMS || (batch.length > 0 && bytes + payload.bytes > MAX_BYTES)) {
      yield batch
      batch = []
      bytes = 0
    }
    batch.push(payload)
    bytes += payload.bytes
  }
  if (batch.length > 0) yield batch
}

async function* payloadsOf(
  args: string[],
  { file, ndjson }: EnqueueFlags,
  { stdin }: Context,
): AsyncGenerator<Payload> {
  for (const [index, arg] of args.entries()) yield parsed(arg, `Argument ${index + 1}`)
  const isPiped = !stdin.isTTY && args.length === 0
  if (file === undefined && !isPiped) return
  const source = file === undefined || file === '-' ? stdin : open(file)
  const name = file === undefined || file === '-' ? 'Standard input' : file
  if (ndjson) yield* linesOf(source, name)
  else {
    const whole = await text(source)
    if (whole.trim() !== '') yield parsed(whole, name)
  }
}

async function* linesOf(source: Readable, name: string): AsyncGenerator<Payload> {
  let number = 0
  for await (const line of createInterface({ input: source, crlfDelay: Number.POSITIVE_INFINITY })) {
    number += 1
    if (line.trim() !== '') yield parsed(line, `${name}, line ${number},`)
  }
}

function open(file: string): Readable {
  if (!statSync(file, { throwIfNoEntry: false })?.isFile())
    throw new UsageError(`${file} is not a file that can be read.`)
  return createReadStream(file)
}

function parsed(json: string, what: string): Payload {
  try {
    return { payload: JSON.parse(json), bytes: Buffer.byteLength(json) }
  } catch (error) {
    throw new UsageError(`${what} is not JSON: ${error instanceof Error ? error.message : 'it cannot be parsed'}`)
  }
}

/** Where the size of the whole is known and somebody looks on. */
function progressBar({ file, ndjson, json }: EnqueueFlags, { stderr }: Context): SingleBar | undefined {
  const size = file === undefined ? 0 : (statSync(file, { throwIfNoEntry: false })?.size ?? 0)
  if (!ndjson || json || !stderr.isTTY || size === 0) return undefined
  const bar = new SingleBar({ format: 'enqueuing {bar} {percentage} %', stream: stderr, hideCursor: true })
  bar.start(size, 0)
  return bar
}
