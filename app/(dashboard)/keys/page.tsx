import type { Metadata } from 'next'
import { Keys } from '@/app/(dashboard)/keys/keys'
import { OnlyForAdmins } from '@/app/(dashboard)/only-for-admins'
import { asWire } from '@/app/(dashboard)/wire'
import { getDb } from '@/lib/db/client'
import { requireSession } from '@/lib/http/session'
import { listKeys } from '@/lib/queue/list-keys'

export const dynamic = 'force-dynamic'
export const metadata: Metadata = { title: 'Keys' }

export default async function Page() {
  const { role } = await requireSession()
  if (role !== 'admin') return <OnlyForAdmins />
  return <Keys initial={asWire({ keys: await listKeys(getDb()) })} />
}
