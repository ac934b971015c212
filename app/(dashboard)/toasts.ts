import type { ToastManagerAddOptions } from '@base-ui/react/toast'

type Message = Pick<ToastManagerAddOptions<object>, 'title' | 'description' | 'type' | 'priority'>

let show = () => {}

/** Calls back when there is a first message, for what shows messages to be loaded: most visits have none. */
export function onFirstMessage(callback: () => void): void {
  show = callback
}

/** Messages of what happened. */
export const toasts = {
  async add(message: Message): Promise<void> {
    show()
    const { addMessage } = await import('@/app/(dashboard)/messages')
    await addMessage(message)
  },
}
