import type { Config } from '@/lib/config'
import { originOf } from '@/lib/launch/address'
import type { DataDirectory } from '@/lib/launch/data-directory'
import { signInLink } from '@/lib/launch/sign-in-link'

/** What a person needs to know once the app answers: where it is, where its data is, and how to sign in. */
export async function startMessage(
  config: Config,
  adminKey: string | undefined,
  data?: DataDirectory,
): Promise<string[]> {
  const origin = originOf(config.host, config.port)
  const lines = [`dispatch-queue runs at ${origin}`]
  if (data) lines.push(...dataLines(data))
  if (config.adminKey !== undefined) lines.push('  admin key  DISPATCH_ADMIN_KEY')
  else
    lines.push(
      data
        ? `  admin key  ${data.adminKeyFile}`
        : '  admin key  none: set DISPATCH_ADMIN_KEY, or nobody can sign in or make keys',
    )
  if (adminKey !== undefined) lines.push(`  sign in    ${await signInLink(origin, adminKey)} (good for 15 minutes)`)
  return [...lines, 'Ctrl-C stops it.']
}

function dataLines(data: DataDirectory): string[] {
  const lines = [`  data       ${data.path}`]
  if (data.cluster.startsWith(data.path)) return lines
  return [...lines, `  database   ${data.cluster} (the user that Postgres runs as cannot reach the data directory)`]
}
