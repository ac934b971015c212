import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { arch, cpus, platform, release, totalmem } from 'node:os'
import path from 'node:path'
import Table from 'cli-table3'
import { Command, InvalidArgumentError } from 'commander'
import { writeCharts } from './charts'
import { startPostgres } from './postgres'
import { asMarkdown, type Result } from './report'
import type { Scenario } from './scenario'
import { scenarios } from './scenarios/all'

interface Flags {
  only?: readonly Scenario[]
  rounds: number
  write?: string
}

const chosen = (text: string): readonly Scenario[] => {
  const parts = text.split(',')
  const found = scenarios.filter(({ name }) => parts.some((part) => name.startsWith(part)))
  if (found.length > 0) return found
  throw new InvalidArgumentError(`They are ${scenarios.map(({ name }) => name).join(', ')}.`)
}

const roundsOf = (text: string): number => {
  const rounds = Number(text)
  if (Number.isInteger(rounds) && rounds > 0) return rounds
  throw new InvalidArgumentError('It is a whole number, 1 or more.')
}

const program = new Command('bench')
  .description('measures dispatch-queue and its peers side by side, on one Postgres with its default durability')
  .option('--only <names>', 'scenarios, or the beginnings of their names, separated by commas', chosen)
  .option('--rounds <n>', 'how many rounds each contestant has; their median counts', roundsOf, 5)
  .option('--write <directory>', 'write the results into a directory: JSON, Markdown, and charts')
  .action(bench)
await program.parseAsync()

async function bench({ only = scenarios, rounds, write }: Flags): Promise<void> {
  const postgres = await startPostgres()
  const results: Result[] = []
  try {
    for (const scenario of only) {
      const { name, title, unit } = scenario
      const result = { name, title, unit, ...(await scenario.run(postgres, rounds)) }
      results.push(result)
      process.stdout.write(`\n${describe(result)}\n`)
    }
  } finally {
    await postgres.stop()
  }
  if (write !== undefined) writeResults(path.resolve(write), results, rounds)
}

/** Scenarios that were not run this time keep what the directory has of them. */
function writeResults(directory: string, measured: readonly Result[], rounds: number): void {
  const file = path.join(directory, 'results.json')
  const kept: Result[] = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).results : []
  const results = scenarios.flatMap(({ name }) => {
    const result = [...measured, ...kept].find((each) => each.name === name)
    return result === undefined ? [] : [result]
  })
  mkdirSync(directory, { recursive: true })
  writeCharts(results, directory)
  writeFileSync(path.join(directory, 'results.md'), asMarkdown(results))
  writeFileSync(file, `${JSON.stringify({ machine: machine(), rounds, results }, null, 2)}\n`)
}

function describe({ title, unit, figures, verdicts }: Result): string {
  const table = new Table({ head: [title, unit, 'rounds'], style: { head: [], border: [] } })
  for (const [name, { median, rounds }] of Object.entries(figures)) table.push([name, median, rounds.join(' ')])
  const lines = verdicts.map(
    ({ what, value, target, isMet }) => `${isMet ? 'met   ' : 'MISSED'}  ${value} ${what} (target ${target})`,
  )
  return [table.toString(), ...lines].join('\n')
}

function machine() {
  return {
    processors: `${cpus().length} × ${cpus()[0]?.model.trim()}`,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    system: `${platform()} ${release()} ${arch()}`,
    node: process.version,
    at: new Date().toISOString().slice(0, 10),
  }
}
