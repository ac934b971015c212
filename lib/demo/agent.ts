/** Stands in for a coding agent: takes an issue, works on it for a few seconds, tells its progress, and gives a result. */
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'

const issue = z.object({ issue: z.string(), seconds: z.number() })
const steps = ['reading the code', 'writing the fix', 'running tests', 'opening a pull request']
const worker = process.ppid

const { issue: name, seconds } = issue.parse(JSON.parse(await text(process.stdin)))
for (const [done, step] of steps.entries()) {
  process.stdout.write(`::progress ${Math.round((100 * done) / steps.length)} ${step}\n`)
  await sleep((seconds * 1_000) / steps.length)
  // The machine has died under it.
  if (process.ppid !== worker) process.exit(1)
}
process.stdout.write(`${JSON.stringify({ issue: name, pullRequest: `https://example.com/pull/${name.slice(4)}` })}\n`)
