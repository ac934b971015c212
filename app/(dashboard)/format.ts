import prettyMs from 'pretty-ms'

const number = new Intl.NumberFormat('en-US')

/** A duration in milliseconds for a person: `12s`, `4m 10s`, `1h 20m`. */
export const duration = (ms: number) => prettyMs(Math.max(0, ms), { unitCount: 2, secondsDecimalDigits: 0 })

/** A count that was capped at one more than `cap`. */
export const capped = (count: number, cap: number) => (count > cap ? `${number.format(cap)}+` : number.format(count))

/** Since an instant, by this machine's clock. */
export const since = (instant: string) => duration(Date.now() - Date.parse(instant))
