import type { Metadata } from 'next'
import { Machines } from '@/app/(dashboard)/machines/machines'
import { asWire } from '@/app/(dashboard)/wire'
import { getDb } from '@/lib/db/client'
import { requireSession } from '@/lib/http/session'
import { listMachines } from '@/lib/queue/list-machines'

export const dynamic = 'force-dynamic'
export const metadata: Metadata = { title: 'Machines' }

export default async function Page() {
  const { orchestratorId } = await requireSession()
  const machines = await listMachines(getDb(), { orchestratorId: orchestratorId ?? undefined })
  return <Machines initial={asWire({ machines })} />
}
