import type { Readable } from 'node:stream'

/** A longer line is cut: a program may write anything. */
const MAX_LINE = 1_000_000
const TAIL = 8_000

/** Hands on each line of a stream as it comes, reading as fast as the program writes. */
export function readLines(stream: Readable, onLine: (line: string) => void): void {
  let rest = ''
  stream.setEncoding('utf8')
  stream.on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n')
    rest = (lines.pop() ?? '').slice(0, MAX_LINE)
    for (const line of lines) onLine(line)
  })
  stream.on('end', () => rest !== '' && onLine(rest))
  stream.on('error', () => {})
}

/** The end of what was written, however much it was. */
export class Tail {
  #text = ''

  add(line: string): void {
    this.#text = `${this.#text}${line}\n`.slice(-TAIL)
  }

  toString(): string {
    return this.#text.trim()
  }
}
