'use client'

import { useMutation, useQueryClient } from '@tanstack/react-query'
import dynamic from 'next/dynamic'
import { useState } from 'react'
import { button } from '@/app/(dashboard)/look'
import { pathWith, request } from '@/app/(dashboard)/request'
import { toasts } from '@/app/(dashboard)/toasts'
import type { ListedWork } from '@/app/(dashboard)/work/columns'

const Confirmation = dynamic(() => import('@/app/(dashboard)/confirmation').then((module) => module.Confirmation), {
  ssr: false,
})

type Action = 'release' | 'retry' | 'cancel'
type Seen = Pick<ListedWork, 'queueId' | 'attempts' | 'claimedBy' | 'state'>
export interface WorkPageAnswer {
  items: ListedWork[]
  nextCursor: string | null
}

const actions: Record<Action, { name: string; done: string; from: string[]; consequence: string }> = {
  release: {
    name: 'Release',
    done: 'released',
    from: ['claimed', 'stale'],
    consequence: 'Their holders lose the claims, and other machines may take the work at once.',
  },
  retry: {
    name: 'Run again',
    done: 'put back into the queue',
    from: ['failed', 'cancelled'],
    consequence: 'They are due at once, with their attempts counted anew.',
  },
  cancel: {
    name: 'Cancel',
    done: 'cancelled',
    from: ['queued', 'scheduled', 'claimed', 'stale'],
    consequence: 'They leave the queue. Machines that hold them learn of it at their next call.',
  },
}
const names: readonly Action[] = ['release', 'retry', 'cancel']
const BATCH = 100

export interface Chosen {
  /** What is selected. */
  items: readonly Seen[]
  /** All that match the filters instead: the list's path without a cursor. */
  matching?: string | undefined
}

/** The buttons for what is selected: each asks first, then says what happened. */
export function ActionBar({ chosen, onDone }: { chosen: Chosen; onDone: () => void }) {
  return (
    <div className="flex flex-wrap items-center gap-2">
      {names.map((action) => (
        <ActionButton key={action} action={action} chosen={chosen} onDone={onDone} />
      ))}
    </div>
  )
}

const isFit = (action: Action) => (item: Seen) => actions[action].from.includes(item.state)

function ActionButton({ action, chosen, onDone }: { action: Action; chosen: Chosen; onDone: () => void }) {
  const [isOpen, setOpen] = useState(false)
  const { name, done, consequence } = actions[action]
  const fit = chosen.items.filter(isFit(action))
  const client = useQueryClient()
  const [progress, setProgress] = useState(0)
  const run = useMutation({
    mutationFn: () => act(action, { ...chosen, items: fit }, setProgress),
    onSuccess: ({ changed, left }) => {
      toasts.add({
        title: `${changed} ${done}.`,
        ...(left > 0 && { description: `${left} had changed since you looked, and are left as they are.` }),
      })
      setOpen(false)
      onDone()
    },
    onError: (error) =>
      toasts.add({ type: 'error', title: `${name} failed.`, description: error.message, priority: 'high' }),
    onSettled: () => client.invalidateQueries(),
  })
  const what =
    chosen.matching === undefined
      ? `${fit.length} ${fit.length === 1 ? 'piece' : 'pieces'} of work`
      : 'all work that matches the filters'
  return (
    <>
      <button
        type="button"
        className={button}
        disabled={fit.length === 0 && chosen.matching === undefined}
        onClick={() => setOpen(true)}
      >
        {name}
      </button>
      {isOpen && (
        <Confirmation
          title={`${name} ${what}?`}
          consequence={`${consequence}${chosen.matching === undefined ? '' : ' Those in another state are left as they are.'}`}
          yes={`Yes, ${name.toLowerCase()}`}
          no="No, leave them"
          isPending={run.isPending}
          progress={`${progress} so far`}
          onYes={() => run.mutate()}
          onClose={() => setOpen(false)}
        />
      )}
    </>
  )
}

/** Acts in batches, so that any number may be chosen. */
async function act(action: Action, { items, matching }: Chosen, onProgress: (changed: number) => void) {
  let changed = 0
  let left = 0
  const send = async (batch: readonly Seen[]) => {
    if (batch.length === 0) return
    const seen = batch.map(({ queueId, attempts, claimedBy }) => ({ queueId, attempts, claimedBy }))
    const answer = await request<{ changed: number[] }>('/api/work/actions', { action, items: seen })
    changed += answer.changed.length
    left += batch.length - answer.changed.length
    onProgress(changed)
  }
  onProgress(0)
  if (matching === undefined) {
    for (let n = 0; n < items.length; n += BATCH) await send(items.slice(n, n + BATCH))
    return { changed, left }
  }
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page: WorkPageAnswer = await request(
      pathWith(matching, {}) + (cursor === undefined ? '' : `&cursor=${cursor}`),
    )
    await send(page.items.filter(isFit(action)))
    cursor = page.nextCursor
  }
  return { changed, left }
}
