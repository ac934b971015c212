import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { ROOT } from '@/lib/launch/root'

const directory = mkdtempSync(path.join(tmpdir(), 'dispatch-rooms-'))
afterAll(() => rmSync(directory, { recursive: true, force: true }))
copyFileSync(path.join(ROOT, 'biome.json'), path.join(directory, 'biome.json'))

/** What Biome says of a file with this content, were it in the repository; '' when it has nothing to say. */
function complaints(file: string, content: string): string {
  const place = path.join(directory, file)
  mkdirSync(path.dirname(place), { recursive: true })
  writeFileSync(place, content)
  const { status, stdout, stderr } = spawnSync(
    path.join(ROOT, 'node_modules', '.bin', 'biome'),
    ['lint', '--colors=off', '--vcs-enabled=false', file],
    { cwd: directory, encoding: 'utf8' },
  )
  rmSync(place)
  return status === 0 ? '' : `${stdout}${stderr}`
}

const importing = (specifier: string) => `import { x } from '${specifier}'\nexport const y = x\n`

test.each([
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
])('Biome refuses %s an import of %s', (file, specifier) => {
  expect(complaints(file, importing(specifier))).toContain('noRestrictedImports')
})

test.each([
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
])('Biome lets %s import %s', (file, specifier) => {
  expect(complaints(file, importing(specifier))).toBe('')
})

test.each([
  ['any', 'export const x = (y: any) => y\n', 'noExplicitAny'],
  ['a non-null assertion', 'export const x = (y: string | null) => y!.length\n', 'noNonNullAssertion'],
  ['a look at the environment', 'export const x = process.env.HOME\n', 'noProcessEnv'],
  ['console', "console.log('x')\n", 'noConsole'],
])('Biome refuses %s', (_what, content, rule) => {
  expect(complaints('lib/queue/x.ts', content)).toContain(rule)
})
