import { administer } from './plain-connection'

/**
 * Runs something and gives the statements that reached the database meanwhile, as Postgres counted them: each text as
 * often as it was executed, whichever driver sent it, with constants as `$n`. A statement that failed is not among them.
 */
export async function recordStatements<T>(
  database: { readonly oid: number },
  run: () => Promise<T>,
): Promise<{ result: T; statements: string[] }> {
  const before = await executions(database.oid)
  const result = await run()
  const after = await executions(database.oid)
  const statements: string[] = []
  for (const [text, count] of after) {
    for (let n = before.get(text) ?? 0; n < count; n++) statements.push(text)
  }
  return { result, statements }
}

/** The texts of all statements that the code under test has sent to a database. */
export async function recordedStatements(databaseOid: number): Promise<string[]> {
  return [...(await executions(databaseOid)).keys()]
}

function executions(databaseOid: number): Promise<Map<string, number>> {
  return administer(async (client) => {
    // The first connection of a handle asks for the version; no operation does.
    const { rows } = await client.query<{ query: string; calls: number }>(
      `SELECT query, sum(calls)::bigint AS calls FROM pg_stat_statements
        WHERE dbid = $1 AND query <> 'SHOW server_version_num' GROUP BY query`,
      [databaseOid],
    )
    return new Map(rows.map((row) => [row.query, row.calls]))
  })
}

/**
 * The UPDATEs and DELETEs among some SQL that name no row: those without a WHERE of their own. Each part of a statement
 * in brackets, as a CTE's, is judged by itself.
 */
export function findUnguardedWrites(texts: readonly string[]): string[] {
  return texts.filter((text) => scopes(withoutLiterals(text)).some(isUnguarded))
}

const withoutLiterals = (text: string): string =>
  text.replace(/--[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'|"(?:[^"]|"")*"/g, (match) =>
    match.startsWith('"') ? 'name' : ' ',
  )

/** The text of each pair of brackets without what lies in brackets within, and at the end what lies in none. */
function scopes(text: string): string[] {
  const closed: string[] = []
  const open = ['']
  for (const character of text) {
    if (character === '(') open.push('')
    else if (character === ')' && open.length > 1) closed.push(open.pop() ?? '')
    else open.push((open.pop() ?? '') + character)
  }
  return [...closed, ...open]
}

const isUnguarded = (scope: string): boolean =>
  /\bDELETE\s+FROM\b|(?<!\bFOR\s+(?:NO\s+KEY\s+)?|\bDO\s+)\bUPDATE\b/i.test(scope) && !/\bWHERE\b/i.test(scope)

/** Runs something and counts the pages that its statements looked at, found in memory or not. */
export async function countPages(database: { readonly oid: number }, run: () => Promise<unknown>): Promise<number> {
  const pages = () =>
    administer(async (client) => {
      const { rows } = await client.query<{ pages: string }>(
        `SELECT coalesce(sum(shared_blks_hit + shared_blks_read), 0)::bigint AS pages FROM pg_stat_statements WHERE dbid = $1`,
        [database.oid],
      )
      return Number(rows[0]?.pages)
    })
  const before = await pages()
  await run()
  return (await pages()) - before
}
