import type { Config } from '@/lib/config'
import { originOf } from '@/lib/launch/address'
import type { DataDirectory } from '@/lib/launch/data-directory'
import { announceLocalServer, configDirectory } from '@/lib/process/local-servers'

/** Tells `dispatch` on this machine where the server is and which file holds its key. Where that cannot be written, `dispatch` is told by hand. */
export function announceServer(config: Config, data: DataDirectory): () => void {
  // A key from the environment is in no file.
  if (config.adminKey !== undefined) return () => {}
  try {
    const server = { url: originOf(config.host, config.port), adminKeyFile: data.adminKeyFile }
    return announceLocalServer(configDirectory(config.xdgConfigHome), config.port, server)
  } catch {
    return () => {}
  }
}
