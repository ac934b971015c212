import { median } from 'simple-statistics'
import type { BenchPostgres } from './postgres'

/** What was measured: the median of the rounds, and each of them. */
export interface Figure {
  median: number
  rounds: number[]
}

/** A figure beside its target. */
export interface Verdict {
  what: string
  value: number
  target: string
  isMet: boolean
}

export interface Outcome {
  figures: Record<string, Figure>
  verdicts: Verdict[]
}

export interface Scenario {
  name: string
  title: string
  /** Of the figures. */
  unit: string
  run(postgres: BenchPostgres, rounds: number): Promise<Outcome>
}

const rounded = (value: number) => Number(value.toPrecision(3))

export function atLeast(what: string, value: number, target: number): Verdict {
  return { what, value: rounded(value), target: `≥ ${target}`, isMet: value >= target }
}

export function atMost(what: string, value: number, target: number): Verdict {
  return { what, value: rounded(value), target: `≤ ${target}`, isMet: value <= target }
}

/** Adds a round's value to those of a name. */
export function addRound(measured: Map<string, number[]>, name: string, value: number): void {
  measured.set(name, [...(measured.get(name) ?? []), rounded(value)])
}

export const figuresOf = (measured: ReadonlyMap<string, number[]>): Record<string, Figure> =>
  Object.fromEntries(
    [...measured].map(([name, rounds]) => [name, { median: Number(median(rounds).toPrecision(6)), rounds }]),
  )

/** A figure that was measured once. */
export const once = (value: number): Figure => ({ median: rounded(value), rounds: [rounded(value)] })
