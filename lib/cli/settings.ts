import { readFileSync } from 'node:fs'
import path from 'node:path'
import { z } from 'zod'
import { UsageError } from '@/lib/cli/exit-codes'
import { configDirectory, localServers } from '@/lib/process/local-servers'

/** Where the server is, and the key for it. */
export interface Settings {
  url: string
  key: string
}

/** Settings as far as they were found; each says where it is from. */
export interface FoundSettings {
  url: string | undefined
  urlFrom: string
  key: string | undefined
  keyFrom: string
}

type Environment = Readonly<Record<string, string | undefined>>

const configFile = z.strictObject({ url: z.string().optional(), key: z.string().optional() })

/**
 * Finds the settings: flags first, then the environment, then `config.json`, then a server that runs on this machine. A key out
 * of a place that names another server is not used: it would be sent to a stranger.
 *
 * @throws {UsageError} when config.json cannot be read
 */
export function findSettings(flags: { url?: string; key?: string }, env: Environment): FoundSettings {
  const directory = configDirectory(env.XDG_CONFIG_HOME)
  const file = readConfigFile(path.join(directory, 'config.json'))
  const named = flags.url ?? (env.DISPATCH_URL || undefined) ?? file.url
  const servers = localServers(directory)
  const local = named === undefined ? servers[0] : servers.find((server) => isSameServer(server.url, named))
  const fileKey = named !== undefined && file.url !== undefined && isSameServer(named, file.url) ? file.key : undefined
  const isEnvironment = env.DISPATCH_KEY !== undefined && env.DISPATCH_KEY !== ''
  const key = flags.key ?? (isEnvironment ? env.DISPATCH_KEY : undefined) ?? fileKey ?? readKey(local?.adminKeyFile)
  return {
    url: named ?? local?.url,
    urlFrom: flags.url
      ? '--url'
      : env.DISPATCH_URL
        ? 'DISPATCH_URL'
        : file.url
          ? 'config.json'
          : 'a server on this machine',
    key,
    keyFrom: flags.key
      ? '--key'
      : isEnvironment
        ? 'DISPATCH_KEY'
        : fileKey
          ? 'config.json'
          : (local?.adminKeyFile ?? ''),
  }
}

/** @throws {UsageError} that says how to set what is missing */
export function requireSettings(found: FoundSettings): Settings {
  const { url, key } = found
  if (url === undefined) {
    throw new UsageError('No server is known. Set DISPATCH_URL or --url, or start one here with: npm start')
  }
  if (!/^https?:\/\//.test(url) || !URL.canParse(url)) {
    throw new UsageError(`${found.urlFrom} must be an http or https URL; it is "${url}".`)
  }
  if (key === undefined) {
    throw new UsageError(`No key for ${url} is known. Set DISPATCH_KEY, or pass --key.`)
  }
  return { url, key }
}

const isSameServer = (one: string, other: string): boolean => {
  if (!URL.canParse(one) || !URL.canParse(other)) return false
  const plain = (url: string) => new URL(url).origin.replace('//localhost', '//127.0.0.1')
  return plain(one) === plain(other)
}

function readConfigFile(file: string): z.output<typeof configFile> {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch {
    return {}
  }
  try {
    return configFile.parse(JSON.parse(text))
  } catch {
    throw new UsageError(`${file} must be JSON like {"url": "https://…", "key": "dq_…"}.`)
  }
}

function readKey(file: string | undefined): string | undefined {
  if (file === undefined) return undefined
  try {
    return readFileSync(file, 'utf8').trim() || undefined
  } catch {
    return undefined
  }
}
