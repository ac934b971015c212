import { configDefaults, defineConfig } from 'vitest/config'

const root = import.meta.dirname
// These keep all that they need in their own database: they may share a process, which then loads everything once.
const sharing = ['tests/db/**/*.test.ts', 'tests/queue/**/*.test.ts']
// Each of these makes its process an instance of the app, by its environment.
const isolated = ['tests/http/**/*.test.ts']

const shared = {
  pool: 'forks',
  maxWorkers: 2,
  testTimeout: 120_000,
  hookTimeout: 120_000,
  // A busy machine may take its time; what never comes still fails.
  expect: { poll: { timeout: 20_000 } },
} as const

interface ProjectTests {
  include: string[]
  exclude?: string[]
  env?: Record<string, string>
  isolate?: boolean
  retry?: number
}

const project = (name: string, test: ProjectTests) => ({
  resolve: { alias: { '@': root } },
  // No zone that a developer or a server is likely to have, and none of whole hours.
  test: { ...shared, ...test, name, env: { TZ: 'America/St_Johns', ...test.env } },
})

export default defineConfig({
  resolve: { alias: { '@': root } },
  test: {
    ...shared,
    globalSetup: './tests/support/global-setup.ts',
    reporters: ['default'],
    projects: [
      ...['pg', 'neon'].flatMap((driver) => [
        project(driver, { include: sharing, env: { TEST_DB_DRIVER: driver }, isolate: false }),
        project(`${driver}-http`, { include: isolated, env: { TEST_DB_DRIVER: driver } }),
      ]),
      project('once', {
        // Servers, browsers and commands in processes of their own: a busy machine may cost one of them its deadline. A fault
        // shows twice.
        retry: 1,
        include: ['tests/**/*.test.ts'],
        exclude: [...configDefaults.exclude, ...sharing, ...isolated],
      }),
    ],
  },
})
