/** `npm run migrate`: brings the database of DATABASE_URL_UNPOOLED, or else of DATABASE_URL, up to date. */
import { getConfig } from '@/lib/config'
import { migrate } from '@/lib/launch/database'
import { loadEnvFiles } from '@/lib/launch/env-files'
import { complain, faultText, say } from '@/lib/launch/say'

process.exit(await main())

async function main(): Promise<number> {
  try {
    loadEnvFiles('production')
    const { unpooledDatabaseUrl } = getConfig()
    if (unpooledDatabaseUrl === undefined) throw new Error('DATABASE_URL is not set: there is no database to migrate.')
    await migrate(unpooledDatabaseUrl)
    say('The database is up to date.')
    return 0
  } catch (error) {
    complain(faultText(error))
    return 1
  }
}
