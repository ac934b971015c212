import { Overview } from '@/app/(dashboard)/overview'
import { asWire } from '@/app/(dashboard)/wire'
import { getDb } from '@/lib/db/client'
import { requireSession } from '@/lib/http/session'
import { overview } from '@/lib/queue/overview'

export const dynamic = 'force-dynamic'

export default async function OverviewPage() {
  const { orchestratorId } = await requireSession()
  const answer = await overview(getDb(), { orchestratorId: orchestratorId ?? undefined, span: 'hour' })
  return <Overview initial={asWire(answer)} />
}
