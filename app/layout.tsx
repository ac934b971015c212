import type { Metadata, Viewport } from 'next'
import type { ReactNode } from 'react'
import './globals.css'

export const metadata: Metadata = {
  title: { default: 'dispatch-queue', template: '%s · dispatch-queue' },
  description: 'Work that waits, is claimed, or was left behind.',
  robots: { index: false, follow: false },
}

export const viewport: Viewport = { colorScheme: 'light dark' }

export default function RootLayout({ children }: { children: ReactNode }) {
  return (
    <html lang="en">
      <body className="min-h-dvh font-sans text-[15px] leading-normal antialiased">{children}</body>
    </html>
  )
}
