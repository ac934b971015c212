'use client'

import { buttonLook, MessagePage } from '@/app/message-page'

/** In place of any page that could not be made; the cause is in the server's log under the same reference. */
export default function ErrorPage({ error }: { error: Error & { digest?: string } }) {
  return (
    <MessagePage title="This page could not be loaded">
      <p className="mt-2 text-muted">
        Most likely the database did not answer. Work that machines have claimed is not affected by this page.
      </p>
      {error.digest && <p className="mt-2 text-sm text-muted">Reference in the server’s log: {error.digest}</p>}
      <a href="/" className={`${buttonLook} mt-6`}>
        Try again
      </a>
    </MessagePage>
  )
}
