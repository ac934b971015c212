import { readdirSync } from 'node:fs'
import path from 'node:path'
import { z } from 'zod'
import type { Handler } from '@/lib/http/route'
import { type Method, readAnswer, requestInit, type Send } from './answers'

const API = path.join(import.meta.dirname, '../../app/api')
const handler = z.custom<Handler>((value) => typeof value === 'function')
export const methodNames = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const
const routeModule = z.object(Object.fromEntries(methodNames.map((name) => [name, handler.optional()])))

export interface Route {
  /** As Next writes it: `/api/work/[queueId]`. */
  path: string
  handlers: Partial<Record<string, Handler>>
}

/** Every route under app/api that the file system has; nobody has to register one. */
export const routes: readonly Route[] = await Promise.all(
  readdirSync(API, { recursive: true, encoding: 'utf8' })
    .filter((file) => path.basename(file) === 'route.ts')
    .sort()
    .map(async (file) => ({
      path: path.posix.join('/api', path.dirname(file).split(path.sep).join('/')),
      handlers: routeModule.parse(await import(path.join(API, file))),
    })),
)

/** Sends a request to the exported handler of its route, as Next's router would. */
export const sendHere: Send = async (method, url, options = {}) => {
  const request = new Request(new URL(url, 'http://queue.test'), requestInit(method, options))
  const { handle, params } = find(new URL(request.url).pathname, method)
  return readAnswer(await handle(request, { params: Promise.resolve(params) }))
}

const isMethod = (name: string): name is Method => methodNames.some((known) => known === name)

/** `fetch`, answered by the exported handlers of this process. */
export const fetchHere: typeof fetch = async (input, init) => {
  const request = new Request(input, init)
  if (!isMethod(request.method)) throw new Error(`no handler is for ${request.method}`)
  const { handle, params } = find(new URL(request.url).pathname, request.method)
  return handle(request, { params: Promise.resolve(params) })
}

function find(pathname: string, method: Method) {
  for (const route of [...routes].sort(byPrecedence)) {
    const groups = pattern(route.path).exec(pathname)?.groups
    const handle = route.handlers[method]
    if (groups === undefined && !pattern(route.path).test(pathname)) continue
    if (handle === undefined) throw new Error(`${route.path} does not export ${method}`)
    const params = Object.entries(groups ?? {}).map(([name, text]) => [name, decodeURIComponent(text ?? '')] as const)
    return { handle, params: Object.fromEntries(params) }
  }
  throw new Error(`no route for ${pathname}`)
}

const pattern = (route: string) =>
  new RegExp(`^${route.replace(/\/\[\[\.\.\.(\w+)\]\]/, '(?:/(?<$1>.+))?').replace(/\[(\w+)\]/g, '(?<$1>[^/]+)')}$`)

/** Literal segments before parameters, and a catch-all last. */
const byPrecedence = (a: Route, b: Route) => rank(a) - rank(b)
const rank = (route: Route) => (route.path.includes('[[...') ? 2 : route.path.includes('[') ? 1 : 0)
