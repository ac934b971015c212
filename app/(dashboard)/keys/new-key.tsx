'use client'

import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { button, card, field, label, primaryButton } from '@/app/(dashboard)/look'
import { request } from '@/app/(dashboard)/request'
import { toasts } from '@/app/(dashboard)/toasts'

const roles = ['orchestrator', 'producer', 'viewer', 'admin'] as const

/** Makes a key, and shows it this once. */
export function NewKey() {
  const [role, setRole] = useState<string>(roles[0])
  const client = useQueryClient()
  const create = useMutation({
    mutationFn: (form: FormData) => {
      const orchestratorId = form.get('orchestratorId') || undefined
      return request<{ key: string }>('/api/keys', {
        name: form.get('name'),
        role,
        ...(role !== 'admin' && { orchestratorId }),
      })
    },
    onSuccess: () => client.invalidateQueries(),
  })
  return (
    <section aria-labelledby="new-key" className={`${card} p-5`}>
      <h2 id="new-key" className="font-semibold">
        New key
      </h2>
      <form
        action={(form) => create.mutate(form)}
        className="mt-3 grid items-end gap-3 sm:grid-cols-[2fr_1fr_2fr_auto]"
      >
        <label className={label}>
          Name
          <input name="name" required maxLength={200} className={field} />
        </label>
        <label className={label}>
          Role
          <select className={field} value={role} onChange={(event) => setRole(event.target.value)}>
            {roles.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        <label className={label}>
          {role === 'orchestrator' ? 'Orchestrator' : 'Orchestrator (all, unless given)'}
          <input
            name="orchestratorId"
            required={role === 'orchestrator'}
            disabled={role === 'admin'}
            maxLength={200}
            className={field}
          />
        </label>
        <button type="submit" className={primaryButton} disabled={create.isPending}>
          Create
        </button>
      </form>
      {create.error !== null && (
        <p role="alert" className="mt-3 text-sm text-failed">
          {create.error.message}
        </p>
      )}
      {create.data !== undefined && <Created value={create.data.key} />}
    </section>
  )
}

function Created({ value }: { value: string }) {
  const copy = () =>
    navigator.clipboard.writeText(value).then(
      () => toasts.add({ title: 'Key copied.' }),
      () =>
        toasts.add({ type: 'error', title: 'The browser does not let this page copy: select the key and copy it.' }),
    )
  return (
    <div role="status" className="mt-4 rounded-lg bg-sunken p-4 text-sm">
      <p>This is the key. It is shown this once; only its fingerprint is kept.</p>
      <p className="mt-2 flex flex-wrap items-center gap-3">
        <code className="font-mono [overflow-wrap:anywhere]">{value}</code>
        <button type="button" className={button} onClick={copy}>
          Copy
        </button>
      </p>
    </div>
  )
}
