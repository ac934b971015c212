const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

const scales = [
  { size: DAY, unit: 'd', next: { size: HOUR, unit: 'h' } },
  { size: HOUR, unit: 'h', next: { size: MINUTE, unit: 'min' } },
  { size: MINUTE, unit: 'min' },
] as const

/** Writes a duration in milliseconds for a person, rounded down: `12 s`, `4 min`, `1 h 20 min`, `3 d 4 h`. Below zero is `0 s`. */
export function duration(ms: number): string {
  for (const scale of scales) {
    if (ms < scale.size) continue
    const whole = `${Math.floor(ms / scale.size)} ${scale.unit}`
    if (!('next' in scale)) return whole
    const rest = Math.floor((ms % scale.size) / scale.next.size)
    return rest === 0 ? whole : `${whole} ${rest} ${scale.next.unit}`
  }
  return `${Math.max(0, Math.floor(ms / SECOND))} s`
}
