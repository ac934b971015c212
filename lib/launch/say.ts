// The launcher talks to a person. Output that nobody reads any more (a closed terminal) must not end it.
process.stdout.on('error', () => {})
process.stderr.on('error', () => {})

/** Tells the person something: one plain line on standard output. */
export function say(line: string): void {
  process.stdout.write(`${line}\n`)
}

/** Tells the person what went wrong: one plain line on standard error. */
export function complain(line: string): void {
  process.stderr.write(`${line}\n`)
}

/** What a fault says, with the causes behind it: drivers put the telling part there, and a refused connection has no text of its own. */
export function faultText(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const inner = error instanceof AggregateError ? error.errors[0] : error.cause
  const texts = [error.message, inner === undefined ? '' : faultText(inner)]
  return texts.filter((text) => text !== '').join(' ')
}
