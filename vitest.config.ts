import { configDefaults, defineConfig } from 'vitest/config'

const root = import.meta.dirname
const onEachDriver = ['tests/db/**/*.test.ts', 'tests/queue/**/*.test.ts', 'tests/http/**/*.test.ts']

const shared = {
  pool: 'forks',
  // More than cores: gates, processes that start, and browsers wait more than they work.
  maxWorkers: 3,
  testTimeout: 60_000,
  hookTimeout: 120_000,
} as const

const project = (name: string, test: { include?: string[]; exclude?: string[]; env?: Record<string, string> }) => ({
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
      project('pg', { include: onEachDriver, env: { TEST_DB_DRIVER: 'pg' } }),
      project('neon', { include: onEachDriver, env: { TEST_DB_DRIVER: 'neon' } }),
      project('once', {
        include: ['tests/**/*.test.ts'],
        exclude: [...configDefaults.exclude, ...onEachDriver],
      }),
    ],
  },
})
