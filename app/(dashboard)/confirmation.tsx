'use client'

import { AlertDialog } from '@base-ui/react/alert-dialog'
import type { ReactNode } from 'react'
import { button, card, primaryButton } from '@/app/(dashboard)/look'

interface ConfirmationProps {
  title: ReactNode
  consequence: string
  yes: string
  no: string
  isPending: boolean
  /** How far it is, while it runs. */
  progress?: string
  onYes: () => void
  onClose: () => void
}

/** Asks before something is done that cannot be undone. */
export function Confirmation({ title, consequence, yes, no, isPending, progress, onYes, onClose }: ConfirmationProps) {
  return (
    <AlertDialog.Root open onOpenChange={(isOpen) => isOpen || isPending || onClose()}>
      <AlertDialog.Portal>
        <AlertDialog.Backdrop className="fixed inset-0 bg-black/40" />
        <AlertDialog.Popup
          className={`${card} fixed top-1/2 left-1/2 w-[min(28rem,calc(100vw-2rem))] -translate-1/2 p-6`}
        >
          <AlertDialog.Title className="text-lg font-semibold">{title}</AlertDialog.Title>
          <AlertDialog.Description className="mt-2 text-sm text-muted">{consequence}</AlertDialog.Description>
          <div className="mt-5 flex items-center justify-end gap-2">
            {isPending && progress !== undefined && (
              <span role="status" className="mr-auto text-sm tabular-nums">
                {progress}
              </span>
            )}
            <AlertDialog.Close className={button} disabled={isPending}>
              {no}
            </AlertDialog.Close>
            <button type="button" className={primaryButton} disabled={isPending} onClick={onYes}>
              {yes}
            </button>
          </div>
        </AlertDialog.Popup>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  )
}
