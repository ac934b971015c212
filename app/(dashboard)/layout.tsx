import type { ReactNode } from 'react'
import { Providers } from '@/app/(dashboard)/providers'
import { Shell } from '@/app/(dashboard)/shell'
import { requireSession } from '@/lib/http/session'

export default async function DashboardLayout({ children }: { children: ReactNode }) {
  const { role, orchestratorId } = await requireSession()
  return (
    <Providers>
      <Shell role={role} orchestratorId={orchestratorId}>
        {children}
      </Shell>
    </Providers>
  )
}
