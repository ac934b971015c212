/** Runs once as a server instance starts: a setting that cannot be used stops it here, before the first request. */
export async function register(): Promise<void> {
  if (process.env.NEXT_RUNTIME === 'nodejs') {
    const { checkConfig } = await import('@/lib/instance/check-config')
    checkConfig()
  }
}
