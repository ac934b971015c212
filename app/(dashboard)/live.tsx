'use client'

import { keepPreviousData, type UseQueryResult, useQuery } from '@tanstack/react-query'
import { request } from '@/app/(dashboard)/request'

const REFRESH_MS = 3_000

/**
 * What a route answers, asked again every three seconds while the tab is in view. What was there stays in sight until there is news,
 * errors included.
 *
 * @param initial what the page came with, where it was for this path
 */
export function useLive<Answer>(path: string, initial?: { path: string; answer: Answer }): UseQueryResult<Answer> {
  return useQuery({
    queryKey: [path],
    queryFn: () => request<Answer>(path),
    refetchInterval: REFRESH_MS,
    placeholderData: keepPreviousData,
    ...(initial?.path === path && { initialData: initial.answer }),
  })
}

/** When the data is from, and what is wrong with getting newer. */
export function Updated({
  query: { dataUpdatedAt, error },
}: {
  query: Pick<UseQueryResult, 'dataUpdatedAt' | 'error'>
}) {
  return (
    <p
      className={`text-sm ${error === null ? 'text-muted' : 'text-failed'}`}
      role={error === null ? undefined : 'alert'}
    >
      {error !== null && `Could not refresh: ${error.message} `}
      {/* The time is written in the zone of the browser, which the server does not know. */}
      <time suppressHydrationWarning>{`Last updated ${new Date(dataUpdatedAt).toLocaleTimeString()}`}</time>
    </p>
  )
}
