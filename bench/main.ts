import { writeFileSync } from 'node:fs'
import { arch, cpus, platform, release, totalmem } from 'node:os'
import path from 'node:path'
import Table from 'cli-table3'
import { Command, InvalidArgumentError } from 'commander'
import { startPostgres } from './postgres'
import type { Rates } from './rounds'
import { type Scenario, scenarios } from './scenarios'

interface Flags {
  only?: readonly Scenario[]
  rounds: number
  json?: string
}

interface Judged {
  than: string
  ratio: number
  target: number
  isMet: boolean
}

interface Result {
  name: string
  title: string
  unit: string
  rates: Rates
  judged: Judged[]
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
  .option('--json <path>', 'write the results to a file')
  .action(bench)
await program.parseAsync()

async function bench({ only = scenarios, rounds, json }: Flags): Promise<void> {
  const postgres = await startPostgres()
  const results: Result[] = []
  try {
    for (const scenario of only) {
      const rates = await scenario.run(postgres, rounds)
      const result = {
        name: scenario.name,
        title: scenario.title,
        unit: scenario.unit,
        rates,
        judged: judge(scenario, rates),
      }
      results.push(result)
      process.stdout.write(`\n${describe(result)}\n`)
    }
  } finally {
    await postgres.stop()
  }
  if (json !== undefined)
    writeFileSync(path.resolve(json), `${JSON.stringify({ machine: machine(), rounds, results }, null, 2)}\n`)
}

function judge({ targets }: Scenario, rates: Rates): Judged[] {
  const own = rates['dispatch-queue']?.median ?? 0
  return targets.map(({ than, ratio: target }) => {
    const ratio = own / (rates[than]?.median ?? Number.NaN)
    return { than, ratio: Math.round(ratio * 100) / 100, target, isMet: ratio >= target }
  })
}

function describe({ title, unit, rates, judged }: Result): string {
  const table = new Table({ head: [title, unit, 'rounds'], style: { head: [], border: [] } })
  for (const [name, rate] of Object.entries(rates)) table.push([name, Math.round(rate.median), rate.rounds.join(' ')])
  const verdicts = judged.map(
    ({ than, ratio, target, isMet }) => `${isMet ? 'met   ' : 'MISSED'}  ${ratio} × ${than} (target ${target})`,
  )
  return [table.toString(), ...verdicts].join('\n')
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
