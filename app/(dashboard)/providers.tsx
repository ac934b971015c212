'use client'

import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import dynamic from 'next/dynamic'
import { NuqsAdapter } from 'nuqs/adapters/next/app'
import { type ReactNode, useEffect, useState } from 'react'
import { onFirstMessage } from '@/app/(dashboard)/toasts'

const Messages = dynamic(() => import('@/app/(dashboard)/messages').then((module) => module.Messages), { ssr: false })

/** What the pages share: the cache of answers, the state in the URL, and messages. */
export function Providers({ children }: { children: ReactNode }) {
  const [client] = useState(() => new QueryClient({ defaultOptions: { queries: { retry: 1, staleTime: 1_000 } } }))
  const [hasMessages, setHasMessages] = useState(false)
  useEffect(() => onFirstMessage(() => setHasMessages(true)), [])
  return (
    <QueryClientProvider client={client}>
      <NuqsAdapter>
        {children}
        {hasMessages && <Messages />}
      </NuqsAdapter>
    </QueryClientProvider>
  )
}
