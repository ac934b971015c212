'use client'

import { useMutation, useQueryClient } from '@tanstack/react-query'
import { createColumnHelper } from '@tanstack/react-table'
import dynamic from 'next/dynamic'
import { useState } from 'react'
import type { z } from 'zod'
import { since } from '@/app/(dashboard)/format'
import { NewKey } from '@/app/(dashboard)/keys/new-key'
import { Updated, useLive } from '@/app/(dashboard)/live'
import { button } from '@/app/(dashboard)/look'
import { request } from '@/app/(dashboard)/request'
import { type plain, SimpleTable } from '@/app/(dashboard)/simple-table'
import { StoredText } from '@/app/(dashboard)/stored-text'
import { toasts } from '@/app/(dashboard)/toasts'
import type { listKeysResponse } from '@/lib/protocol/keys'

const Confirmation = dynamic(() => import('@/app/(dashboard)/confirmation').then((module) => module.Confirmation), {
  ssr: false,
})

type Answer = z.output<typeof listKeysResponse>
type Key = Answer['keys'][number]

const helper = createColumnHelper<typeof plain, Key>()
const columns = helper.columns([
  helper.accessor('name', { header: 'Name', cell: ({ getValue }) => <StoredText text={getValue()} /> }),
  helper.accessor('role', { header: 'Role' }),
  helper.accessor('orchestratorId', {
    header: 'Orchestrator',
    cell: ({ getValue }) => <StoredText text={getValue() ?? 'all'} />,
  }),
  helper.accessor('prefix', {
    header: 'Begins with',
    cell: ({ getValue }) => <code className="font-mono">{getValue()}</code>,
  }),
  helper.accessor('lastUsedAt', { header: 'Last used', cell: ({ getValue }) => <Ago instant={getValue()} /> }),
  helper.accessor('createdAt', { header: 'Created', cell: ({ getValue }) => <Ago instant={getValue()} /> }),
  helper.display({ id: 'revoke', header: 'Revoke', cell: ({ row }) => <Revoke apiKey={row.original} /> }),
])

function Ago({ instant }: { instant: string | null }) {
  return (
    <span className="whitespace-nowrap" suppressHydrationWarning>
      {instant === null ? 'never' : `${since(instant)} ago`}
    </span>
  )
}

/** The keys that were issued, and a form for new ones. */
export function Keys({ initial }: { initial: Answer }) {
  const query = useLive<Answer>('/api/keys', { path: '/api/keys', answer: initial })
  const keys = query.data?.keys ?? []
  return (
    <main className="grid gap-5">
      <div className="flex flex-wrap items-baseline gap-x-4">
        <h1 className="mr-auto text-xl font-semibold tracking-tight">Keys</h1>
        <Updated query={query} />
      </div>
      <NewKey />
      {keys.length === 0 ? (
        <p className="rounded-xl border border-dashed border-line px-4 py-6 text-muted">
          No key was issued yet; the root key works beside them.
        </p>
      ) : (
        <SimpleTable caption="Issued keys" columns={columns} data={keys} />
      )}
    </main>
  )
}

function Revoke({ apiKey: { id, name, revokedAt } }: { apiKey: Key }) {
  const [isOpen, setOpen] = useState(false)
  const client = useQueryClient()
  const revoke = useMutation({
    mutationFn: () => request(`/api/keys/${id}`, undefined, 'DELETE'),
    onSuccess: () => {
      toasts.add({ title: `${name} is revoked.`, description: 'Other instances refuse it within 30 seconds.' })
      setOpen(false)
    },
    onError: (error) => toasts.add({ type: 'error', title: 'It could not be revoked.', description: error.message }),
    onSettled: () => client.invalidateQueries(),
  })
  if (revokedAt !== null) return <span className="text-muted">revoked</span>
  return (
    <>
      <button type="button" className={button} aria-label={`Revoke ${name}`} onClick={() => setOpen(true)}>
        Revoke
      </button>
      {isOpen && (
        <Confirmation
          title={
            <>
              Revoke <StoredText text={name} />?
            </>
          }
          consequence="Whoever uses it is refused from now on. This cannot be undone."
          yes="Yes, revoke"
          no="No, keep it"
          isPending={revoke.isPending}
          onYes={() => revoke.mutate()}
          onClose={() => setOpen(false)}
        />
      )}
    </>
  )
}
