import type { Metadata } from 'next'
import { redirect } from 'next/navigation'
import { buttonLook, MessagePage } from '@/app/message-page'
import { getConfig } from '@/lib/config'
import { hasSession } from '@/lib/http/session'

export const dynamic = 'force-dynamic'
export const metadata: Metadata = { title: 'Sign in' }

const problems = new Map([
  ['wrong-key', 'This key is not valid. Check that all of it was copied, or use another one.'],
  ['wrong-role', 'This key works, but not here: the dashboard needs a key with the role admin or viewer.'],
  [
    'bad-link',
    'This sign-in link is not valid any more: it is good for 15 minutes. Use a key, or start the app again for a new link.',
  ],
  ['too-many', 'Too many wrong keys came from here. Wait five minutes, and try again.'],
  ['session-ended', 'Your session has ended. Sign in again.'],
  ['unavailable', 'The key could not be checked, because the database did not answer. Try again in a moment.'],
])

export default async function SignInPage({ searchParams }: { searchParams: Promise<{ problem?: string | string[] }> }) {
  if (getConfig().adminKey === undefined) return <NoAdminKey />
  if (await hasSession()) redirect('/')
  const { problem } = await searchParams
  const message = problems.get(String(problem))
  return (
    <MessagePage title="Sign in">
      <p className="mt-1 text-muted">The dashboard is for holders of an admin’s or viewer’s key.</p>
      {message !== undefined && (
        <p id="problem" role="alert" className="mt-5 rounded-lg bg-failed-wash px-3.5 py-3 text-failed">
          {message}
        </p>
      )}
      <form action="/sign-in/key" method="post" className="mt-6 grid gap-2">
        <label htmlFor="key" className="font-medium">
          Key
        </label>
        <input
          id="key"
          name="key"
          type="password"
          required
          autoComplete="current-password"
          spellCheck={false}
          aria-describedby={message === undefined ? 'hint' : 'problem hint'}
          className="w-full rounded-lg border border-idle bg-canvas px-3 py-2.5 font-mono"
        />
        <button type="submit" className={`${buttonLook} mt-3`}>
          Sign in
        </button>
      </form>
      <p id="hint" className="mt-6 border-t border-line pt-5 text-sm text-muted">
        The root key is the value of <Code>DISPATCH_ADMIN_KEY</Code>. Started without one, the app made a key: the start
        says which file holds it, and prints a link that signs you in.
      </p>
    </MessagePage>
  )
}

function NoAdminKey() {
  return (
    <MessagePage title="Nobody can sign in yet">
      <p className="mt-2 text-muted">
        The app runs without an admin key. Set <Code>DISPATCH_ADMIN_KEY</Code> in its environment to a secret of 16
        characters or more, and start it again. This command makes a good one:
      </p>
      <pre className="mt-4 overflow-x-auto rounded-lg bg-sunken px-3.5 py-3 font-mono text-sm">
        openssl rand -base64 32
      </pre>
    </MessagePage>
  )
}

function Code({ children }: { children: string }) {
  return <code className="rounded bg-sunken px-1 py-0.5 font-mono text-[0.9em]">{children}</code>
}
