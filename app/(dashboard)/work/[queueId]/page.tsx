import type { Metadata } from 'next'
import { notFound } from 'next/navigation'
import { asWire } from '@/app/(dashboard)/wire'
import { OneWork } from '@/app/(dashboard)/work/[queueId]/one-work'
import { getDb } from '@/lib/db/client'
import { requireSession } from '@/lib/http/session'
import { workPath } from '@/lib/protocol/work'
import { QueueError } from '@/lib/queue/errors'
import { showWork } from '@/lib/queue/show-work'

export const dynamic = 'force-dynamic'

interface PageProps {
  params: Promise<{ queueId: string }>
}

export async function generateMetadata({ params }: PageProps): Promise<Metadata> {
  return { title: `Work ${(await params).queueId}` }
}

export default async function Page({ params }: PageProps) {
  const { role, orchestratorId } = await requireSession()
  const path = workPath.safeParse(await params)
  if (!path.success) notFound()
  const { queueId } = path.data
  const work = await showWork(getDb(), { queueId, orchestratorId: orchestratorId ?? undefined }).catch(
    (error: unknown) => {
      if (error instanceof QueueError) notFound()
      throw error
    },
  )
  return <OneWork queueId={queueId} initial={asWire(work)} canAct={role === 'admin'} />
}
