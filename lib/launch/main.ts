/** `npm start` and `npm run dev`. */
import { ConfigError, getConfig } from '@/lib/config'
import { loadEnvFiles } from '@/lib/launch/env-files'
import { launch } from '@/lib/launch/launch'
import { nextApp } from '@/lib/launch/next-app'
import { complain } from '@/lib/launch/say'

process.exit(await main(process.argv[2]))

async function main(mode: string | undefined): Promise<number> {
  if (mode !== 'start' && mode !== 'dev') {
    complain('Say which: start (as in production) or dev (reloads what you change).')
    return 1
  }
  try {
    loadEnvFiles(mode === 'start' ? 'production' : 'development')
    return await launch(getConfig(), nextApp(mode))
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    complain(error.message)
    return 1
  }
}
