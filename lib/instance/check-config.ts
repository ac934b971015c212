import { ConfigError, getConfig } from '@/lib/config'

/** Ends the process with the sentence that names the setting, when one cannot be used. */
export function checkConfig(): void {
  try {
    getConfig()
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    process.stderr.write(`${error.message}\n`)
    process.exit(1)
  }
}
