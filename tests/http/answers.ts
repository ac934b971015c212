import { expect } from 'vitest'
import type { z } from 'zod'
import { problem, type problemCode } from '@/lib/protocol/problem'

export type Method = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS'

export interface RequestOptions {
  key?: string | undefined
  /** Sent as JSON; `body` instead goes out as it is. */
  json?: unknown
  body?: BodyInit
  headers?: Record<string, string>
  signal?: AbortSignal
}

export interface Answer {
  status: number
  headers: Headers
  text: string
  /** The text parsed as JSON; undefined for an empty one. */
  body: unknown
}

/** Sends a request to an instance of the app, whether it runs in this process or as a server. */
export type Send = (method: Method, path: string, options?: RequestOptions) => Promise<Answer>

export type ProblemCode = z.output<typeof problemCode>
export type Problem = z.output<typeof problem>

/** The fields of a request as fetch and Request take them. */
export function requestInit(method: Method, options: RequestOptions): RequestInit & { duplex: 'half' } {
  const { key, json, body, headers, signal } = options
  return {
    method,
    headers: {
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
      ...((json !== undefined || body !== undefined) && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(json !== undefined && { body: JSON.stringify(json) }),
    ...(body !== undefined && { body }),
    ...(signal !== undefined && { signal }),
    duplex: 'half',
  }
}

export async function readAnswer(response: Response): Promise<Answer> {
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.includes('json') ?? false
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: isJson && text ? JSON.parse(text) : undefined,
  }
}

/** Expects a success whose body fits a response schema, and gives the body. */
export function expectAnswer<Schema extends z.ZodType>(
  answer: Answer,
  status: number,
  schema: Schema,
): z.output<Schema> {
  expect(answer.status, answer.text).toBe(status)
  expect(answer.headers.get('content-type')).toBe('application/json')
  expect(answer.headers.get('cache-control')).toMatch(/^no-store\b/)
  expect(answer.headers.get('x-request-id')).toMatch(/\S/)
  const parsed = schema.parse(answer.body)
  // Clients let newer servers add fields; this server adds none that the schema does not name.
  expect(parsed).toStrictEqual(answer.body)
  return parsed
}

/** Expects a problem document of this kind, whole and nothing beside it, and gives it. */
export function expectProblem(answer: Answer, status: number, code: ProblemCode): Problem {
  expect(answer.status, answer.text).toBe(status)
  expect(answer.headers.get('content-type')).toBe('application/problem+json')
  expect(answer.headers.get('cache-control')).toMatch(/^no-store\b/)
  const document = problem.parse(answer.body)
  expect(document).toMatchObject({ type: `urn:dispatch-queue:problem:${code}`, status })
  expect(document.requestId).toBe(answer.headers.get('x-request-id'))
  expect(document.detail).toMatch(/\.$/)
  expect(document.title).toMatch(/\S/)
  return document
}

/** Expects a 400 that names exactly these paths. */
export function expectInvalid(answer: Answer, ...paths: string[]): Problem {
  const document = expectProblem(answer, 400, 'invalid-request')
  expect(document.errors?.map((error) => error.path)).toStrictEqual(paths)
  return document
}
