import { z } from 'zod'

const whole = <Fallback extends number | undefined>(name: string, min: number, max: number, fallback: Fallback) =>
  z
    .string()
    .trim()
    .optional()
    .transform((text, context) => {
      if (text === undefined || text === '') return fallback
      const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
      if (value >= min && value <= max) return value
      context.addIssue(`${name} must be a whole number from ${min} to ${max}, written in digits; it is "${text}"`)
      return z.NEVER
    })

const optionalText = z
  .string()
  .trim()
  .optional()
  .transform((text) => text || undefined)

const ADMIN_KEY_MIN_LENGTH = 16
const CRON_SECRET_MIN_LENGTH = 16

/** The environment's variables, their bounds and defaults. Durations are integers in milliseconds. */
const environment = z.object({
  DATABASE_URL: optionalText,
  DATABASE_URL_UNPOOLED: optionalText,
  DISPATCH_DB_DRIVER: z
    .union([z.literal(''), z.enum(['neon', 'pg'])], 'DISPATCH_DB_DRIVER must be "neon" or "pg"')
    .optional()
    .transform((driver) => driver || undefined),
  DISPATCH_NEON_ENDPOINT: optionalText,
  DISPATCH_NAMED_STATEMENTS: z
    .union([z.literal(''), z.enum(['on', 'off'])], 'DISPATCH_NAMED_STATEMENTS must be "on" or "off"')
    .optional()
    .transform((choice) => choice || undefined),
  DISPATCH_POOL_SIZE: whole('DISPATCH_POOL_SIZE', 1, 500, 10),
  DISPATCH_CLAIM_TIMEOUT_MS: whole('DISPATCH_CLAIM_TIMEOUT_MS', 1_000, 86_400_000, 1_800_000),
  DISPATCH_MAX_ATTEMPTS: whole('DISPATCH_MAX_ATTEMPTS', 1, 100, 3),
  DISPATCH_SWEEP_INTERVAL_MS: whole('DISPATCH_SWEEP_INTERVAL_MS', 100, 3_600_000, 15_000),
  DISPATCH_MAX_WAITERS: whole('DISPATCH_MAX_WAITERS', 0, 1_000_000, 10_000),
  DISPATCH_RETENTION_DAYS: whole('DISPATCH_RETENTION_DAYS', 1, 3_650, 7),
  DISPATCH_MAX_PAYLOAD_BYTES: whole('DISPATCH_MAX_PAYLOAD_BYTES', 1_024, 3_000_000, 262_144),
  DISPATCH_ADMIN_KEY: optionalText.refine((key) => key === undefined || key.length >= ADMIN_KEY_MIN_LENGTH, {
    error: `DISPATCH_ADMIN_KEY is shorter than ${ADMIN_KEY_MIN_LENGTH} characters; make one with: openssl rand -base64 32`,
  }),
  // A cron secret that is too short never stops the start: the cron route then answers 401, always.
  CRON_SECRET: optionalText.transform((secret) =>
    secret !== undefined && secret.length >= CRON_SECRET_MIN_LENGTH ? secret : undefined,
  ),
  DISPATCH_LOG_LEVEL: z
    .union([z.literal(''), z.enum(['debug', 'info', 'warn', 'error', 'silent'])], {
      error: 'DISPATCH_LOG_LEVEL must be debug, info, warn, error or silent',
    })
    .optional()
    .transform((level) => level || 'info'),
  VERCEL: optionalText,
  // The launcher's own.
  PORT: whole('PORT', 1, 65_535, 3_000),
  HOST: optionalText,
  DISPATCH_DATA_DIR: optionalText.transform((directory) => directory ?? '.dispatch'),
  DISPATCH_POSTGRES_PORT: whole('DISPATCH_POSTGRES_PORT', 1, 65_535, undefined),
  npm_lifecycle_event: optionalText,
  XDG_CONFIG_HOME: optionalText,
})

export type Config = ReturnType<typeof readConfig>

/** Thrown for a setting that cannot be used; the message names the variable and says what it must be. */
export class ConfigError extends Error {
  override name = 'ConfigError'
}

/**
 * Reads the settings out of an environment.
 *
 * @throws {ConfigError} with one sentence per bad value; a secret's value is never in it.
 */
export function readConfig(env: Record<string, string | undefined>) {
  const parsed = environment.safeParse(env)
  if (!parsed.success) throw new ConfigError(parsed.error.issues.map((issue) => issue.message).join('\n'))
  const values = parsed.data
  return {
    databaseUrl: values.DATABASE_URL,
    unpooledDatabaseUrl: values.DATABASE_URL_UNPOOLED ?? values.DATABASE_URL,
    databaseDriver: values.DISPATCH_DB_DRIVER,
    neonEndpoint: values.DISPATCH_NEON_ENDPOINT,
    namedStatements: values.DISPATCH_NAMED_STATEMENTS,
    poolSize: values.DISPATCH_POOL_SIZE,
    claimTimeoutMs: values.DISPATCH_CLAIM_TIMEOUT_MS,
    maxAttempts: values.DISPATCH_MAX_ATTEMPTS,
    sweepIntervalMs: values.DISPATCH_SWEEP_INTERVAL_MS,
    /** How many callers of one instance may wait for work at once. */
    maxWaiters: values.DISPATCH_MAX_WAITERS,
    retentionDays: values.DISPATCH_RETENTION_DAYS,
    maxPayloadBytes: values.DISPATCH_MAX_PAYLOAD_BYTES,
    adminKey: values.DISPATCH_ADMIN_KEY,
    cronSecret: values.CRON_SECRET,
    logLevel: values.DISPATCH_LOG_LEVEL,
    isVercel: values.VERCEL !== undefined,
    port: values.PORT,
    /** On loopback only with the embedded Postgres: that is one person's machine until they open it. */
    host: values.HOST ?? (values.DATABASE_URL === undefined ? '127.0.0.1' : '0.0.0.0'),
    dataDirectory: values.DISPATCH_DATA_DIR,
    /** Undefined: any free one. */
    postgresPort: values.DISPATCH_POSTGRES_PORT,
    xdgConfigHome: values.XDG_CONFIG_HOME,
    isUnderNpm: values.npm_lifecycle_event !== undefined,
  }
}

let current: Config | undefined

/** This process's settings, read once. @throws {ConfigError} see {@link readConfig} */
export function getConfig(): Config {
  current ??= readConfig(process.env)
  return current
}

/** This process's environment with some changes, to start another process in. */
export function environmentWith(changes: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  return { ...process.env, ...changes }
}
