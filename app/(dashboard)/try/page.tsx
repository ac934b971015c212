import type { Metadata } from 'next'
import { headers } from 'next/headers'
import { OnlyForAdmins } from '@/app/(dashboard)/only-for-admins'
import { TryIt } from '@/app/(dashboard)/try/try-it'
import { requireSession } from '@/lib/http/session'

export const dynamic = 'force-dynamic'
export const metadata: Metadata = { title: 'Try it' }

export default async function Page() {
  const { role } = await requireSession()
  return role === 'admin' ? <TryIt origin={await ownOrigin()} /> : <OnlyForAdmins />
}

/** Where the browser reaches this app; from outside a host name comes only in the form that one has. */
async function ownOrigin(): Promise<string> {
  const given = await headers()
  const first = (name: string) => given.get(name)?.split(',')[0]?.trim()
  const host = first('x-forwarded-host') ?? first('host') ?? ''
  const scheme = first('x-forwarded-proto') === 'https' ? 'https' : 'http'
  return `${scheme}://${/^[\w.:[\]-]+$/.test(host) ? host : 'localhost'}`
}
