import type { ReactNode } from 'react'
import { Brand } from '@/app/brand'

/** A page that says one thing: a card in the middle. */
export function MessagePage({ title, children }: { title: string; children: ReactNode }) {
  return (
    <main className="mx-auto flex min-h-dvh w-full max-w-md flex-col justify-center gap-6 px-4 py-10">
      <Brand />
      <section className="rounded-xl border border-line bg-surface p-6 shadow-sm sm:p-8">
        <h1 className="text-xl font-semibold tracking-tight">{title}</h1>
        {children}
      </section>
    </main>
  )
}

/** How a button looks, be it one or a link. */
export const buttonLook =
  'inline-flex items-center justify-center rounded-lg bg-accent px-4 py-2.5 font-medium text-on-accent hover:brightness-110'
