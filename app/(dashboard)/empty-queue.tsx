import { headers } from 'next/headers'

/** What stands in place of the lists while there is no work: how to put the first piece in. */
export async function EmptyQueue() {
  return (
    <section className="rounded-xl border border-line bg-surface p-6 lg:p-8">
      <h2 className="text-lg font-semibold tracking-tight">The queue is empty</h2>
      <p className="mt-1 max-w-prose text-muted">
        Nothing waits and no machine is at work. Put a first piece of work in from a terminal, with a producer or admin
        key in <code className="font-mono text-[0.9em]">$KEY</code>:
      </p>
      <pre className="mt-4 overflow-x-auto rounded-lg bg-sunken px-4 py-3.5 font-mono text-[13px] leading-relaxed">
        {enqueueCommand(await ownOrigin())}
      </pre>
      <p className="mt-4 max-w-prose text-sm text-muted">
        It appears here as queued when you reload, and is claimed as soon as a machine of orchestrator acme polls.
      </p>
    </section>
  )
}

const enqueueCommand = (origin: string) => `curl -sS '${origin}/api/enqueue' \\
  -H "Authorization: Bearer $KEY" \\
  -H 'Content-Type: application/json' \\
  -d '{"orchestratorId":"acme","items":[{"payload":{"issue":"ENG-142","title":"Fix the login"}}]}'`

/** Where the browser reaches this app; from outside a host name comes only in the form that one has. */
async function ownOrigin(): Promise<string> {
  const given = await headers()
  const first = (name: string) => given.get(name)?.split(',')[0]?.trim()
  const host = first('x-forwarded-host') ?? first('host') ?? ''
  const scheme = first('x-forwarded-proto') === 'https' ? 'https' : 'http'
  return `${scheme}://${/^[\w.:[\]-]+$/.test(host) ? host : 'localhost'}`
}
