'use client'

import { Toast } from '@base-ui/react/toast'
import { useEffect } from 'react'

const manager = Toast.createToastManager()
let hasMounted = () => {}
const mounted = new Promise<void>((resolve) => {
  hasMounted = resolve
})

/** Shows a message as soon as there is a place for it. */
export async function addMessage(message: Parameters<typeof manager.add>[0]): Promise<void> {
  await mounted
  manager.add(message)
}

/** Shows the messages, in a corner, until they were there for a while or are closed. */
export function Messages() {
  return (
    <Toast.Provider toastManager={manager}>
      <Shown />
    </Toast.Provider>
  )
}

function Shown() {
  const { toasts: shown } = Toast.useToastManager()
  // The provider listens by the time that whoever awaits this goes on: all effects of a commit run before.
  useEffect(() => hasMounted(), [])
  return (
    <Toast.Portal>
      <Toast.Viewport className="fixed right-4 bottom-4 left-4 z-50 grid gap-2 sm:left-auto sm:w-96">
        {shown.map((toast) => (
          <Toast.Root
            key={toast.id}
            toast={toast}
            className="flex items-start gap-3 rounded-lg border border-line bg-surface p-4 shadow-lg"
          >
            <Toast.Content className="min-w-0 flex-1">
              <Toast.Title className={`font-medium ${toast.type === 'error' ? 'text-failed' : ''}`} />
              <Toast.Description className="text-sm text-muted [overflow-wrap:anywhere]" />
            </Toast.Content>
            <Toast.Close className="rounded px-1.5 text-muted hover:text-ink" aria-label="Close">
              ×
            </Toast.Close>
          </Toast.Root>
        ))}
      </Toast.Viewport>
    </Toast.Portal>
  )
}
