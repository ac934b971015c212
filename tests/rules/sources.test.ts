import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import ts from 'typescript'
import { expect, test } from 'vitest'
import { ROOT } from '@/lib/launch/root'

const sources = ['app', 'lib'].flatMap((room) =>
  readdirSync(path.join(ROOT, room), { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.tsx?$/.test(file))
    .map((file) => ({ file: path.posix.join(room, file), text: readFileSync(path.join(ROOT, room, file), 'utf8') })),
)

/** The files that hold a pattern, but for those that may. */
const holding = (pattern: RegExp, ...except: string[]) =>
  sources.filter(({ file, text }) => pattern.test(text) && !except.includes(file)).map(({ file }) => file)

test('no transaction is ever opened, but to hurt a server that is put to the proof: each operation is one statement', () => {
  expect(holding(/\.transaction\(|\bBEGIN\b|'begin'/, 'lib/chaos/server-faults.ts')).toStrictEqual([])
})

test('no statement sets a session, listens or locks by session: a pooled connection keeps none of it', () => {
  expect(
    holding(
      /sql`[^`]*\bLISTEN\b|\bpg_advisory_lock|\bSET SESSION\b|\bset (statement|lock)_timeout/i,
      'lib/launch/migrate.ts',
    ),
  ).toStrictEqual([])
})

test('no instant of this process goes into a statement: the database’s clock is the only clock', () => {
  const inQueue = sources.filter(({ file }) => file.startsWith('lib/queue/'))
  expect(inQueue.length).toBeGreaterThan(20)
  expect(inQueue.filter(({ text }) => /Date\.now\(|new Date\(\)/.test(text)).map(({ file }) => file)).toStrictEqual([])
})

test('no timer runs at the scope of a module, where a frozen or reloaded instance would have it twice or never', () => {
  expect(holding(/^set(Interval|Timeout)\(/m)).toStrictEqual([])
})

test('after() is called in one place, which only handlers use: a page that called it would run it at build', () => {
  expect(holding(/from 'next\/server'/)).toStrictEqual(['lib/http/background.ts'])
  const pages = sources.filter(({ file }) => /(page|layout)\.tsx$/.test(file))
  expect(pages.filter(({ text }) => /background'/.test(text)).map(({ file }) => file)).toStrictEqual([])
})

/** The casts and non-null assertions in a source, as they are written. */
function castsIn({ file, text }: { file: string; text: string }): string[] {
  const found: string[] = []
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
  const visit = (node: ts.Node): void => {
    const isCast = ts.isAsExpression(node) && node.type.getText(source) !== 'const'
    if (isCast || ts.isNonNullExpression(node) || ts.isTypeAssertionExpression(node))
      found.push(`${file}: ${node.getText(source)}`)
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found
}

test('no cast but as const, no non-null assertion, and no rule switched off without a reason beside it', () => {
  expect(sources.flatMap(castsIn)).toStrictEqual([])
  expect(holding(/biome-ignore [^:\n]+\n|@ts-(ignore|nocheck|expect-error)/)).toStrictEqual([])
})

test('a page that reads the database says that it is made at each request', () => {
  const pages = sources.filter(
    ({ file, text }) => file.endsWith('page.tsx') && /getDb|hasSession|requireSession/.test(text),
  )
  expect(pages.length).toBeGreaterThan(0)
  for (const { file, text } of pages) expect(text, file).toContain("export const dynamic = 'force-dynamic'")
})

test('GET means what it says everywhere: caching by components is off', () => {
  expect(readFileSync(path.join(ROOT, 'next.config.ts'), 'utf8')).not.toMatch(/cacheComponents: true/)
})
