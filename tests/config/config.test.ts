import { describe, expect, test } from 'vitest'
import { ConfigError, readConfig } from '@/lib/config'

const numbers = {
  DISPATCH_CLAIM_TIMEOUT_MS: ['claimTimeoutMs', 1_800_000, 1_000, 86_400_000],
  DISPATCH_MAX_ATTEMPTS: ['maxAttempts', 3, 1, 100],
  DISPATCH_SWEEP_INTERVAL_MS: ['sweepIntervalMs', 15_000, 100, 3_600_000],
  DISPATCH_RETENTION_DAYS: ['retentionDays', 7, 1, 3_650],
  DISPATCH_MAX_PAYLOAD_BYTES: ['maxPayloadBytes', 262_144, 1_024, 3_000_000],
  DISPATCH_POOL_SIZE: ['poolSize', 10, 1, 500],
  PORT: ['port', 3_000, 1, 65_535],
} as const

describe.each(Object.entries(numbers))('%s', (name, [setting, byDefault, min, max]) => {
  test.each([undefined, '', ' '])('is the default when it is %j', (value) => {
    expect(readConfig({ [name]: value })[setting]).toBe(byDefault)
  })

  test('may be anything within its bounds', () => {
    for (const value of [min, max]) expect(readConfig({ [name]: ` ${value} ` })[setting]).toBe(value)
  })

  test.each(['30min', '0', '-5', '1e3', '1_000', '1.5', '0x10', 'Infinity', 'NaN', '99999999999999', '٣٠٠٠'])(
    'is refused as %j, in a sentence that names it',
    (value) => {
      expect(() => readConfig({ [name]: value })).toThrow(ConfigError)
      expect(() => readConfig({ [name]: value })).toThrow(name)
    },
  )

  test('is refused just beyond its bounds', () => {
    for (const value of [min - 1, max + 1]) expect(() => readConfig({ [name]: `${value}` })).toThrow(name)
  })
})

describe.each([
  ['DISPATCH_DB_DRIVER', 'databaseDriver', undefined, ['neon', 'pg']],
  ['DISPATCH_NAMED_STATEMENTS', 'namedStatements', undefined, ['on', 'off']],
  ['DISPATCH_LOG_LEVEL', 'logLevel', 'info', ['debug', 'info', 'warn', 'error', 'silent']],
] as const)('%s', (name, setting, byDefault, choices) => {
  test('is one of its choices, the default when it is empty, and refused otherwise', () => {
    for (const choice of choices) expect(readConfig({ [name]: choice })[setting]).toBe(choice)
    for (const empty of [undefined, '']) expect(readConfig({ [name]: empty })[setting]).toBe(byDefault)
    for (const wrong of ['ON', 'true', 'mysql', '1']) expect(() => readConfig({ [name]: wrong })).toThrow(name)
  })
})

describe('secrets', () => {
  test.each(['x', 'fifteen-chars-x', `${' '.repeat(20)}x`])(
    'an admin key that is short stops the start, and is not told: %j',
    (key) => {
      expect(() => readConfig({ DISPATCH_ADMIN_KEY: key })).toThrow('DISPATCH_ADMIN_KEY is shorter than 16 characters')
      expect(() => readConfig({ DISPATCH_ADMIN_KEY: key })).not.toThrow(new RegExp(`"${key.trim()}"`))
    },
  )

  test.each([undefined, '', ' ', 'x\n', 'fifteen-chars-x'])('a cron secret that is %j lets nobody in', (secret) => {
    expect(readConfig({ CRON_SECRET: secret }).cronSecret).toBeUndefined()
  })

  test('are trimmed: a newline at the end is not part of them', () => {
    const sixteen = 'sixteen-chars-xx'
    const config = readConfig({ CRON_SECRET: `${sixteen}\n`, DISPATCH_ADMIN_KEY: `${sixteen}\n` })
    expect([config.cronSecret, config.adminKey]).toStrictEqual([sixteen, sixteen])
  })
})

test('every bad value is told at once, each in a sentence of its own', () => {
  const read = () => readConfig({ DISPATCH_MAX_ATTEMPTS: '0', DISPATCH_DB_DRIVER: 'x' })
  expect(read).toThrow(/DISPATCH_MAX_ATTEMPTS[^\n]*\n|DISPATCH_DB_DRIVER[^\n]*\n/)
  expect(read).toThrow('DISPATCH_MAX_ATTEMPTS')
  expect(read).toThrow('DISPATCH_DB_DRIVER')
})

test('migrations go to the unpooled database, else to the only one', () => {
  expect(readConfig({ DATABASE_URL: 'postgres://a/b' }).unpooledDatabaseUrl).toBe('postgres://a/b')
  expect(
    readConfig({ DATABASE_URL: 'postgres://a/b', DATABASE_URL_UNPOOLED: 'postgres://c/d' }).unpooledDatabaseUrl,
  ).toBe('postgres://c/d')
})

test('the app listens on loopback alone while its database is the embedded one, unless told', () => {
  expect(readConfig({}).host).toBe('127.0.0.1')
  expect(readConfig({ DATABASE_URL: 'postgres://a/b' }).host).toBe('0.0.0.0')
  expect(readConfig({ HOST: '0.0.0.0' }).host).toBe('0.0.0.0')
})
