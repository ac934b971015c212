import { Client } from 'pg'

const EVERY_MS = 1_000

/**
 * Counts the statements of a database from outside: each of the app's is a transaction of its own. Postgres forgets its count when
 * it is killed, so it is asked once a second; what was done since the last look before a kill is not in the sum.
 */
export class StatementCounter {
  readonly #url: string
  #total = 0
  #last = 0
  #timer: NodeJS.Timeout | undefined

  constructor(url: string) {
    this.#url = url
  }

  async start(): Promise<void> {
    this.#last = (await this.#look()) ?? 0
    this.#timer = setInterval(() => void this.#add(), EVERY_MS)
  }

  /** @returns how many there were since the start */
  async stop(): Promise<number> {
    clearInterval(this.#timer)
    await this.#add()
    return this.#total
  }

  async #add(): Promise<void> {
    const now = await this.#look()
    if (now === undefined) return
    // Below the last one: it counts from zero again.
    this.#total += now >= this.#last ? now - this.#last : now
    this.#last = now
  }

  async #look(): Promise<number | undefined> {
    const client = new Client({ connectionString: this.#url, connectionTimeoutMillis: 1_000 })
    client.on('error', () => {})
    try {
      await client.connect()
      const { rows } = await client.query<{ count: string }>(
        'SELECT xact_commit AS count FROM pg_stat_database WHERE datname = current_database()',
      )
      return Number(rows[0]?.count)
    } catch {
      return undefined
    } finally {
      await client.end().catch(() => {})
    }
  }
}
