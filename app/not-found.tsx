import { buttonLook, MessagePage } from '@/app/message-page'

export default function NotFound() {
  return (
    <MessagePage title="There is no such page">
      <p className="mt-2 mb-6 text-muted">The address may be mistyped, or the page has moved.</p>
      <a href="/" className={buttonLook}>
        To the dashboard
      </a>
    </MessagePage>
  )
}
