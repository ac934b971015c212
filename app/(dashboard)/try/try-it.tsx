'use client'

import { useMutation } from '@tanstack/react-query'
import Link from 'next/link'
import { useState } from 'react'
import { button, card, code, field, label, primaryButton } from '@/app/(dashboard)/look'
import { request } from '@/app/(dashboard)/request'
import { toasts } from '@/app/(dashboard)/toasts'

const EXAMPLE = '{\n  "issue": "ENG-142",\n  "title": "Fix the login"\n}'

/** Puts work in by hand, and shows the commands that do it and that work it off. */
export function TryIt({ origin }: { origin: string }) {
  const [orchestrator, setOrchestrator] = useState('acme')
  const [payload, setPayload] = useState(EXAMPLE)
  const problem = problemOf(payload)
  return (
    <main className="grid gap-5">
      <h1 className="text-xl font-semibold tracking-tight">Try it</h1>
      <div className="grid items-start gap-5 lg:grid-cols-2">
        <Enqueue
          orchestrator={orchestrator}
          onOrchestrator={setOrchestrator}
          payload={payload}
          onPayload={setPayload}
          problem={problem}
        />
        <section aria-labelledby="commands" className={`${card} grid gap-4 p-5`}>
          <h2 id="commands" className="font-semibold">
            From a terminal
          </h2>
          <Command
            title="Put it in, with a producer’s or admin’s key"
            text={enqueueCommand(origin, orchestrator, problem === undefined ? payload : EXAMPLE)}
          />
          <Command title="Get the command line" text={`curl -sSO ${origin}/dispatch.mjs`} />
          <Command
            title="Work it off, with an orchestrator’s key"
            text={`DISPATCH_URL=${origin} DISPATCH_KEY=$KEY node dispatch.mjs work \\\n  --orchestrator ${quoted(orchestrator)} -- sh -c 'cat; sleep 5'`}
          />
        </section>
      </div>
    </main>
  )
}

function problemOf(text: string): string | undefined {
  try {
    JSON.parse(text)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : 'This is not JSON.'
  }
}

const quoted = (text: string) => (/^[\w.-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`)

function enqueueCommand(origin: string, orchestratorId: string, payload: string): string {
  const body = JSON.stringify({ orchestratorId, items: [{ payload: JSON.parse(payload) }] })
  return `curl -sS '${origin}/api/enqueue' \\\n  -H "Authorization: Bearer $KEY" \\\n  -H 'Content-Type: application/json' \\\n  -d ${quoted(body)}`
}

interface EnqueueProps {
  orchestrator: string
  onOrchestrator: (orchestrator: string) => void
  payload: string
  onPayload: (payload: string) => void
  problem: string | undefined
}

function Enqueue({ orchestrator, onOrchestrator, payload, onPayload, problem }: EnqueueProps) {
  const enqueue = useMutation({
    mutationFn: () =>
      request<{ items: { queueId: number }[] }>('/api/enqueue', {
        orchestratorId: orchestrator,
        items: [{ payload: JSON.parse(payload), enqueueId: crypto.randomUUID() }],
      }),
  })
  const queueId = enqueue.data?.items[0]?.queueId
  return (
    <section aria-labelledby="enqueue" className={`${card} grid gap-3 p-5`}>
      <h2 id="enqueue" className="font-semibold">
        Enqueue by hand
      </h2>
      <label className={label}>
        Orchestrator
        <input
          className={field}
          value={orchestrator}
          maxLength={200}
          onChange={(event) => onOrchestrator(event.target.value)}
        />
      </label>
      <label className={label}>
        Payload, as JSON
        <textarea
          className={`${field} min-h-48 font-mono`}
          value={payload}
          spellCheck={false}
          aria-invalid={problem !== undefined}
          aria-describedby="payload-problem"
          onChange={(event) => onPayload(event.target.value)}
        />
      </label>
      <p id="payload-problem" role="status" className="min-h-5 text-sm text-failed">
        {problem}
      </p>
      <button
        type="button"
        className={`${primaryButton} justify-self-start`}
        disabled={problem !== undefined || orchestrator === '' || enqueue.isPending}
        onClick={() => enqueue.mutate()}
      >
        Enqueue
      </button>
      {enqueue.error !== null && (
        <p role="alert" className="text-sm text-failed">
          {enqueue.error.message}
        </p>
      )}
      {queueId !== undefined && (
        <p role="status" className="text-sm">
          It is in the queue as{' '}
          <Link href={`/work/${queueId}`} className="underline">
            work {queueId}
          </Link>
          .
        </p>
      )}
    </section>
  )
}

function Command({ title, text }: { title: string; text: string }) {
  const copy = () =>
    navigator.clipboard.writeText(text).then(
      () => toasts.add({ title: 'Copied.' }),
      () => toasts.add({ type: 'error', title: 'The browser does not let this page copy.' }),
    )
  return (
    <div className="grid min-w-0 gap-1.5">
      <div className="flex items-center gap-3 text-sm text-muted">
        <h3 className="mr-auto">{title}</h3>
        <button type="button" className={button} onClick={copy} aria-label={`Copy: ${title}`}>
          Copy
        </button>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable by keyboard. */}
      <pre className={code} tabIndex={0}>
        {text}
      </pre>
    </div>
  )
}
