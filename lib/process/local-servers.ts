import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import path from 'node:path'
import { z } from 'zod'

const localServer = z.object({ url: z.string(), adminKeyFile: z.string() })

/** A server that runs on this machine, and the file that holds its admin key. */
export type LocalServer = z.infer<typeof localServer>

/**
 * Where a person's settings for `dispatch` are kept (XDG Base Directory Specification).
 *
 * @param xdgConfigHome the variable of that name, where it is set
 */
export function configDirectory(xdgConfigHome: string | undefined): string {
  return path.join(xdgConfigHome || path.join(homedir(), '.config'), 'dispatch')
}

const directoryOf = (config: string) => path.join(config, 'local')

/** Tells `dispatch`, run by the same person on the same machine, of a server. @returns how to take that back */
export function announceLocalServer(config: string, port: number, server: LocalServer): () => void {
  const file = path.join(directoryOf(config), `${port}.json`)
  mkdirSync(directoryOf(config), { recursive: true, mode: 0o700 })
  writeFileSync(file, JSON.stringify(server), { mode: 0o600 })
  return () => rmSync(file, { force: true })
}

/** The servers that were announced on this machine and not taken back; one that was killed may be among them. */
export function localServers(config: string): LocalServer[] {
  return filesIn(directoryOf(config)).flatMap((file) => {
    const parsed = localServer.safeParse(readJson(path.join(directoryOf(config), file)))
    return parsed.success ? [parsed.data] : []
  })
}

function filesIn(directory: string): string[] {
  try {
    return readdirSync(directory).sort()
  } catch {
    return []
  }
}

function readJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return undefined
  }
}
