import type { Metadata } from 'next'
import { WorkPage } from '@/app/(dashboard)/work/work-page'
import { requireSession } from '@/lib/http/session'

export const dynamic = 'force-dynamic'
export const metadata: Metadata = { title: 'Work' }

export default async function Page() {
  const { role } = await requireSession()
  return <WorkPage canAct={role === 'admin'} />
}
