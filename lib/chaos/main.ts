/** `npm run prove`: three instances and a Postgres of their own, a fleet of misbehaving machines, and faults on both sides. */
import { Command } from 'commander'
import { injectServerFaults, serverFaults } from '@/lib/chaos/server-faults'
import { startServers } from '@/lib/chaos/servers'
import { StatementCounter } from '@/lib/chaos/statement-counter'
import { type FleetFlags, fleetOptionsOf, tellReport, watchProgress, withFleetOptions } from '@/lib/cli/commands/prove'
import { allFaults } from '@/lib/prove/faults'
import { runFleet } from '@/lib/prove/fleet'
import { reportOf } from '@/lib/prove/report'

const program = withFleetOptions(
  new Command('prove').description(
    'let misbehaving machines loose on three instances and a Postgres that are killed and cut off, and check that the queue keeps its promises',
  ),
  [...allFaults, ...serverFaults],
)
  .option('--json', 'answer in JSON, for programs')
  .action(prove)
await program.parseAsync()

async function prove(flags: FleetFlags): Promise<void> {
  const stopping = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopping.abort())
  process.stderr.write('Starting three instances on an embedded Postgres; the first time they are built.\n')
  const servers = await startServers(stopping.signal)
  try {
    const counter = new StatementCounter(servers.database.url)
    await counter.start()
    const result = await runFleet({
      ...fleetOptionsOf(flags),
      url: servers.url,
      key: servers.adminKey,
      stopping: stopping.signal,
      onProgress: watchProgress(flags, process),
      disturb: (signal) =>
        injectServerFaults(
          servers,
          serverFaults.filter((fault) => flags.faults.has(fault)),
          signal,
        ),
    })
    tellReport(reportOf(result, await counter.stop()), flags, process)
  } finally {
    await servers.stop()
  }
}
