import { mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { beforeEach, expect, it } from 'vitest'
import { isFresh } from '@/lib/launch/build'
import { testDirectory } from './launcher'

const BUILT_AT = 1_000_000
let directory: string
let buildId: string

const put = (name: string, at: number) => {
  const file = path.join(directory, name)
  mkdirSync(path.dirname(file), { recursive: true })
  writeFileSync(file, '')
  for (let each = file; each !== directory; each = path.dirname(each)) utimesSync(each, at, at)
}
const sources = (...names: string[]) => names.map((name) => path.join(directory, name))

beforeEach(() => {
  directory = testDirectory()
  buildId = path.join(directory, 'BUILD_ID')
  put('BUILD_ID', BUILT_AT)
  put('app/api/claim/route.ts', BUILT_AT - 2)
  put('package.json', BUILT_AT - 2)
})

it('a build that is newer than every source is fresh, whichever sources there are', () => {
  expect(isFresh(buildId, sources('app', 'package.json', 'not-there.ts'))).toBe(true)
})

it('no build is not fresh', () => {
  rmSync(buildId)
  expect(isFresh(buildId, sources('app'))).toBe(false)
})

it.each(['app/api/claim/route.ts', 'app/new/deep/page.tsx', 'package.json'])(
  'a build is stale once %s is written',
  (name) => {
    put(name, BUILT_AT + 2)
    expect(isFresh(buildId, sources('app', 'package.json'))).toBe(false)
  },
)

it('a build is stale once a source is removed', () => {
  rmSync(path.join(directory, 'app/api/claim/route.ts'))
  expect(isFresh(buildId, sources('app', 'package.json'))).toBe(false)
})
