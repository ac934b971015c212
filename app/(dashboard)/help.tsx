'use client'

import { Dialog } from '@base-ui/react/dialog'
import { button, card } from '@/app/(dashboard)/look'

const shortcuts = [
  ['/', 'search the work'],
  ['j and k', 'go down and up in a list'],
  ['Enter', 'open what is in focus'],
  ['x', 'select the row in focus'],
  ['?', 'this help'],
]

/** What the keyboard does. */
export function Help({ onClose }: { onClose: () => void }) {
  return (
    <Dialog.Root open onOpenChange={(isOpen) => isOpen || onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className="fixed inset-0 bg-black/40" />
        <Dialog.Popup className={`${card} fixed top-1/2 left-1/2 w-[min(26rem,calc(100vw-2rem))] -translate-1/2 p-6`}>
          <Dialog.Title className="text-lg font-semibold">Keyboard</Dialog.Title>
          <dl className="mt-3 grid grid-cols-[auto_1fr] gap-x-4 gap-y-2 text-sm">
            {shortcuts.map(([keys, what]) => (
              <div key={keys} className="contents">
                <dt className="font-mono">{keys}</dt>
                <dd className="text-muted">{what}</dd>
              </div>
            ))}
          </dl>
          <Dialog.Close className={`${button} mt-5`}>Close</Dialog.Close>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}
