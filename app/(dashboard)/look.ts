/** How parts of the pages look that are used on several of them. */
export const card = 'rounded-xl border border-line bg-surface'
export const button =
  'inline-flex cursor-pointer items-center justify-center rounded-lg border border-line bg-surface px-3 py-1.5 text-sm hover:bg-sunken disabled:cursor-not-allowed disabled:text-muted disabled:hover:bg-surface'
export const primaryButton =
  'inline-flex cursor-pointer items-center justify-center rounded-lg bg-accent px-4 py-2 text-sm font-medium text-on-accent hover:brightness-110 disabled:cursor-not-allowed disabled:opacity-60'
export const field = 'w-full min-w-0 rounded-lg border border-idle bg-canvas px-3 py-1.5 text-sm'
export const label = 'grid gap-1 text-sm text-muted'
export const code = 'overflow-x-auto rounded-lg bg-sunken px-4 py-3.5 font-mono text-[13px] leading-relaxed'

/** A state's dot. */
export const dots: Record<string, string> = {
  queued: 'bg-queued',
  scheduled: 'bg-scheduled',
  claimed: 'bg-claimed',
  stale: 'bg-stale',
  completed: 'bg-claimed',
  failed: 'bg-failed',
  cancelled: 'bg-idle',
}
