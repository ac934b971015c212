import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { ROOT } from '@/lib/launch/root'

const forbidden = [
  ['lib/queue/x.ts', '@/lib/http/route'],
  ['lib/queue/x.ts', '@/lib/protocol/claim'],
  ['lib/queue/x.ts', '@/lib/config'],
  ['lib/queue/x.ts', '@/lib/instance/log'],
  ['lib/queue/x.ts', 'next/server'],
  ['lib/db/x.ts', '@/lib/queue/claim'],
  ['lib/db/x.ts', '@/lib/http/route'],
  ['lib/protocol/x.ts', '@/lib/db/schema'],
  ['lib/protocol/x.ts', '@/lib/queue/errors'],
  ['lib/protocol/x.ts', 'node:fs'],
  ['lib/config.ts', '@/lib/db/client'],
  ['lib/http/x.ts', '@/lib/db/schema'],
  ['lib/http/x.ts', 'drizzle-orm'],
  ['lib/http/x.ts', '@/lib/launch/launch'],
  ['lib/instance/x.ts', '@/lib/http/route'],
  ['lib/instance/x.ts', 'next/server'],
  ['lib/launch/x.ts', '@/lib/queue/claim'],
  ['lib/client/x.ts', '@/lib/queue/claim'],
  ['lib/client/x.ts', '@/lib/config'],
  ['lib/client/x.ts', 'next/server'],
  ['app/api/x/route.ts', '@/lib/db/schema'],
  ['app/api/x/route.ts', 'drizzle-orm'],
  ['app/api/x/route.ts', 'pg'],
  ['app/(dashboard)/x.tsx', '@/lib/db/schema'],
  ['app/(dashboard)/x.tsx', 'drizzle-orm'],
  ['lib/queue/x.ts', '../http/route'],
] as const

const allowed = [
  ['lib/queue/x.ts', '@/lib/db/client'],
  ['lib/queue/x.ts', 'drizzle-orm'],
  ['lib/db/x.ts', '@/lib/config'],
  ['lib/protocol/x.ts', '@/lib/protocol/fields'],
  ['lib/http/x.ts', '@/lib/queue/claim'],
  ['lib/http/x.ts', '@/lib/db/client'],
  ['lib/instance/x.ts', '@/lib/queue/sweep-stale'],
  ['lib/launch/x.ts', '@/lib/db/client'],
  ['lib/client/x.ts', '@/lib/protocol/claim'],
  ['app/api/x/route.ts', '@/lib/http/route'],
  ['app/api/x/route.ts', '@/lib/queue/claim'],
] as const

const refused = [
  ['any', 'export const x = (y: any) => y\n', 'noExplicitAny'],
  ['a non-null assertion', 'export const x = (y: string | null) => y!.length\n', 'noNonNullAssertion'],
  ['a look at the environment', 'export const x = process.env.HOME\n', 'noProcessEnv'],
  ['console', "console.log('x')\n", 'noConsole'],
] as const

const importing = (specifier: string) => `import { x } from '${specifier}'\nexport const y = x\n`
const numbered = (file: string, number: number) => file.replace(/x(\.tsx?|\/route\.ts)$/, `x${number}$1`)

const files = new Map<string, string>()
forbidden.forEach(([file, specifier], n) => void files.set(numbered(file, n), importing(specifier)))
allowed.forEach(([file, specifier], n) => void files.set(numbered(file, 100 + n), importing(specifier)))
refused.forEach(([, content], n) => void files.set(`lib/queue/x${200 + n}.ts`, content))
// Two modules that import each other.
files.set('lib/queue/cycle-a.ts', "import { b } from './cycle-b'\nexport const a = () => b\n")
files.set('lib/queue/cycle-b.ts', "import { a } from './cycle-a'\nexport const b = () => a\n")

const report = z.object({
  diagnostics: z.array(z.object({ category: z.string(), location: z.object({ path: z.string() }) })),
})

/** The rules that Biome finds broken in each file, were it in the repository; one run for all. */
function brokenRules(): Map<string, string[]> {
  const directory = mkdtempSync(path.join(tmpdir(), 'dispatch-rooms-'))
  try {
    copyFileSync(path.join(ROOT, 'biome.json'), path.join(directory, 'biome.json'))
    for (const [file, content] of files) {
      mkdirSync(path.dirname(path.join(directory, file)), { recursive: true })
      writeFileSync(path.join(directory, file), content)
    }
    const { stdout } = spawnSync(
      path.join(ROOT, 'node_modules', '.bin', 'biome'),
      ['lint', '--vcs-enabled=false', '--reporter=json', '--max-diagnostics=none', '.'],
      { cwd: directory, encoding: 'utf8', maxBuffer: 64_000_000 },
    )
    const broken = new Map([...files.keys()].map((file): [string, string[]] => [file, []]))
    for (const { category, location } of report.parse(JSON.parse(stdout)).diagnostics)
      broken.get(location.path)?.push(category)
    return broken
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

const broken = brokenRules()

test.each(forbidden.map(([file, specifier], n) => [file, specifier, n] as const))(
  'Biome refuses %s an import of %s',
  (file, _specifier, n) => {
    expect(broken.get(numbered(file, n))).toContain('lint/style/noRestrictedImports')
  },
)

test.each(allowed.map(([file, specifier], n) => [file, specifier, n] as const))(
  'Biome lets %s import %s',
  (file, _specifier, n) => {
    expect(broken.get(numbered(file, 100 + n))).toStrictEqual([])
  },
)

test.each(refused.map(([what, , rule], n) => [what, rule, n] as const))('Biome refuses %s', (_what, rule, n) => {
  expect(broken.get(`lib/queue/x${200 + n}.ts`)?.join()).toContain(rule)
})

test('Biome refuses modules that import each other', () => {
  expect(broken.get('lib/queue/cycle-a.ts')).toContain('lint/suspicious/noImportCycles')
})
