'use client'

import dynamic from 'next/dynamic'
import Link from 'next/link'
import { usePathname } from 'next/navigation'
import { type ReactNode, useState } from 'react'
import { useHotkeys } from 'react-hotkeys-hook'
import { button } from '@/app/(dashboard)/look'
import { Brand } from '@/app/brand'
import type { SessionRole } from '@/lib/http/session'

const Help = dynamic(() => import('@/app/(dashboard)/help').then((module) => module.Help), { ssr: false })

const pages = [
  { path: '/', name: 'Overview' },
  { path: '/work', name: 'Work' },
  { path: '/machines', name: 'Machines' },
  { path: '/keys', name: 'Keys', isForAdmins: true },
  { path: '/try', name: 'Try it', isForAdmins: true },
]
/** The frame of every page: where one is, where one can go, and the keyboard. */
export function Shell({
  role,
  orchestratorId,
  children,
}: {
  role: SessionRole
  orchestratorId: string | null
  children: ReactNode
}) {
  const [isHelpOpen, setHelpOpen] = useState(false)
  useHotkeys('?', () => setHelpOpen(true), { useKey: true })
  useHotkeys('/', focusSearch, { useKey: true, preventDefault: true })
  useHotkeys('j', () => moveFocus(1))
  useHotkeys('k', () => moveFocus(-1))
  return (
    <div className="mx-auto max-w-[1600px] px-4 pb-16 sm:px-6">
      <header className="flex flex-wrap items-center gap-x-6 gap-y-2 py-4">
        <Link href="/" className="rounded">
          <Brand />
        </Link>
        <Navigation role={role} />
        <div className="ml-auto flex items-center gap-2 text-sm">
          {role === 'viewer' && (
            <span className="text-muted">
              viewer{orchestratorId === null ? '' : ` of ${orchestratorId}`}: sees, cannot act
            </span>
          )}
          <button
            type="button"
            className={button}
            onClick={() => setHelpOpen(true)}
            aria-label="Help with the keyboard"
          >
            ?
          </button>
          <form action="/sign-out" method="post">
            <button type="submit" className={button}>
              Sign out
            </button>
          </form>
        </div>
      </header>
      {children}
      {isHelpOpen && <Help onClose={() => setHelpOpen(false)} />}
    </div>
  )
}

function Navigation({ role }: { role: SessionRole }) {
  const here = usePathname()
  return (
    <nav
      aria-label="Pages"
      className="order-last -mx-1 flex w-full gap-1 overflow-x-auto px-1 py-1 text-sm md:order-none md:w-auto"
    >
      {pages
        .filter(({ isForAdmins }) => role === 'admin' || !isForAdmins)
        .map(({ path, name }) => {
          const isHere = path === '/' ? here === '/' : here.startsWith(path)
          return (
            <Link
              key={path}
              href={path}
              aria-current={isHere ? 'page' : undefined}
              className={`rounded-lg px-3 py-1.5 whitespace-nowrap hover:bg-sunken ${isHere ? 'bg-sunken font-medium' : 'text-muted'}`}
            >
              {name}
            </Link>
          )
        })}
    </nav>
  )
}

/** The page's search, or the work's on a page without one. */
function focusSearch(): void {
  const search = document.querySelector<HTMLInputElement>('[data-search]')
  if (search === null) window.location.assign('/work')
  else search.focus()
}

/** Moves the focus among the links that open a list's rows. */
function moveFocus(step: number): void {
  const rows = [...document.querySelectorAll<HTMLElement>('[data-row-link]')]
  const at = rows.findIndex((row) => row.matches(':focus'))
  rows[at === -1 ? 0 : Math.min(rows.length - 1, Math.max(0, at + step))]?.focus()
}
