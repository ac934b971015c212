/** `npm run demo`: two machines share twenty issues, and one of them dies in the middle. `--exit` ends it with the last table. */
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { table } from '@/lib/cli/table'
import { DispatchClient } from '@/lib/client/dispatch-client'
import { Board } from '@/lib/demo/board'
import { issues } from '@/lib/demo/issues'
import { LEASE_SECONDS, type Machine, startMachine } from '@/lib/demo/machine'
import { type DemoServer, startServer } from '@/lib/demo/server'

const ORCHESTRATOR = 'demo'
/** So many are completed when the laptop dies. */
const DEATH_AFTER = 7

const write = (text: string) => process.stdout.write(`${text}\n`)

write('Starting a server on an embedded Postgres; the first time it is built, which takes a quarter of a minute or so.')
const server = await startServer()
const machines: Machine[] = []
const interrupted = Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
try {
  await Promise.race([tell(server), interrupted])
  if (!process.argv.includes('--exit')) {
    write(`\nThe dashboard stays up: ${server.signInLink}\nCtrl-C ends it.`)
    await interrupted
  }
} finally {
  await Promise.all(machines.map((machine) => machine.stop()))
  await server.stop()
}
process.exit(process.exitCode)

async function tell({ url, adminKey }: DemoServer): Promise<void> {
  const client = new DispatchClient({ url, key: adminKey })
  const { items } = await client.enqueue({
    orchestratorId: ORCHESTRATOR,
    items: issues.map((payload) => ({ payload })),
  })
  const names = new Map(items.map(({ queueId }, n) => [queueId, `${issues[n]?.issue} ${issues[n]?.title}`]))
  write(
    `\n${items.length} issues are queued. A laptop and a desktop begin to work, with leases of ${LEASE_SECONDS} s.\n`,
  )

  const { key } = await client.createKey({ name: 'demo machines', role: 'orchestrator', orchestratorId: ORCHESTRATOR })
  const board = new Board(names)
  const laptop = startMachine('laptop', server, key, (event) => board.see(event))
  machines.push(
    laptop,
    startMachine('desktop', server, key, (event) => board.see(event)),
  )

  let diedAt: Date | undefined
  while (board.done < items.length) {
    await sleep(50)
    if (diedAt !== undefined || board.done < DEATH_AFTER || board.heldBy('laptop').length === 0) continue
    diedAt = new Date()
    laptop.kill()
    const left = board.heldBy('laptop').map((queueId) => names.get(queueId)?.split(' ')[0])
    board.say(`laptop  dies (kill -9) with ${left.join(' and ')} in its hands; nobody tells the server`)
  }
  board.close()
  await conclude(client, names, diedAt ?? new Date())
}

/** Asks the server, not the machines, what has become of all the work. */
async function conclude(client: DispatchClient, names: ReadonlyMap<number, string>, diedAt: Date): Promise<void> {
  const works = await Promise.all([...names.keys()].map((queueId) => client.showWork(queueId)))
  const after = (instant: string) => ((Date.parse(instant) - diedAt.getTime()) / 1_000).toFixed(1)
  const story = ({ attemptLog, claimedAt }: (typeof works)[number]) => {
    const expired = attemptLog.find(({ how }) => how === 'expired')
    if (expired === undefined || claimedAt === null) return ''
    return `laptop died; queued again after ${after(expired.endedAt)} s, taken over after ${after(claimedAt)} s`
  }
  const rows = works.map((work) => [
    names.get(work.queueId) ?? '',
    work.claimedBy ?? '',
    `${work.attempts}`,
    story(work),
  ])
  const completed = works.filter(({ state }) => state === 'completed').length
  const twice = works.filter(({ attemptLog }) => attemptLog.filter(({ how }) => how === 'completed').length > 1).length
  const recovered = rows.filter(([, , , told]) => told !== '').length
  write(`\n${table(['work', 'completed by', 'attempts', 'story'], rows)}\n`)
  write(
    `${completed} of ${works.length} completed, ${twice === 0 ? 'none' : twice} twice; ${recovered} recovered from the dead laptop.`,
  )
  if (completed !== works.length || twice > 0) process.exitCode = 1
}
