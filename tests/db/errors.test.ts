import { NeonDbError } from '@neondatabase/serverless'
import { DrizzleQueryError } from 'drizzle-orm'
import { DatabaseError } from 'pg'
import { describe, expect, test } from 'vitest'
import { isConflict, isUnreachable, isUnstorableValue, sqlState } from '@/lib/db/errors'

const wrapped = (cause: Error) => new DrizzleQueryError('SELECT 1', [], cause)
const coded = (message: string, code: string) => Object.assign(new Error(message), { code })
const fromNeon = (message: string, fields: { code?: string; sourceError?: Error }) =>
  Object.assign(new NeonDbError(message), fields)

function fromPostgres(code: string): DatabaseError {
  const error = new DatabaseError('refused', 7, 'error')
  error.code = code
  return error
}

const kindsOf = (error: unknown) => ({
  conflict: isConflict(error),
  unstorable: isUnstorableValue(error),
  unreachable: isUnreachable(error),
})
const none = { conflict: false, unstorable: false, unreachable: false }

describe.each([
  ['by pg', (code: string) => wrapped(fromPostgres(code))],
  ['by Neon', (code: string) => wrapped(fromNeon('refused', { code }))],
])('a refusal by Postgres, brought %s and wrapped by drizzle', (_, refusal) => {
  test.each([
    ['23505', 'unique violation', none],
    ['23514', 'check violation', none],
    ['42P01', 'undefined table', none],
    ['40001', 'serialization failure', { ...none, conflict: true }],
    ['40P01', 'deadlock', { ...none, conflict: true }],
    ['22P05', 'NUL in jsonb', { ...none, unstorable: true }],
    ['22021', 'NUL in text', { ...none, unstorable: true }],
    ['22003', 'number out of range', { ...none, unstorable: true }],
    ['22008', 'interval out of range', { ...none, unstorable: true }],
    ['54000', 'index row too large', { ...none, unstorable: true }],
    ['54001', 'nesting too deep', { ...none, unstorable: true }],
    ['08006', 'connection failure', { ...none, unreachable: true }],
    ['53300', 'too many connections', { ...none, unreachable: true }],
    ['55P03', 'lock timeout', { ...none, unreachable: true }],
    ['57014', 'statement timeout', { ...none, unreachable: true }],
    ['57P01', 'terminated by an administrator', { ...none, unreachable: true }],
    ['57P03', 'starting up', { ...none, unreachable: true }],
    ['58030', 'input/output error', { ...none, unreachable: true }],
  ])('%s (%s) is known by its SQLSTATE', (code, _, kinds) => {
    expect(sqlState(refusal(code))).toBe(code)
    expect(kindsOf(refusal(code))).toStrictEqual(kinds)
  })
})

describe('a database that cannot be asked', () => {
  const socketError = coded('other side closed', 'UND_ERR_SOCKET')
  test.each([
    [
      'a reset connection to Neon',
      fromNeon('fetch failed', { sourceError: new TypeError('fetch failed', { cause: socketError }) }),
    ],
    ['Neon out of time', fromNeon('aborted', { sourceError: new DOMException('timed out', 'TimeoutError') })],
    ['an aborted request to Neon', fromNeon('aborted', { sourceError: new DOMException('aborted', 'AbortError') })],
    ["an error page of Neon's proxy", new NeonDbError('Server error (HTTP status 502): <html>')],
    ['an answer cut off by the time limit', new DOMException('timed out', 'TimeoutError')],
    ['an answer cut off by an abort', new DOMException('aborted', 'AbortError')],
    ['an answer cut off by the other side', new TypeError('terminated', { cause: socketError })],
    ['a refused connection', coded('connect ECONNREFUSED', 'ECONNREFUSED')],
    ['a broken pipe', coded('write EPIPE', 'EPIPE')],
    ['no free connection', new Error('timeout exceeded when trying to connect')],
    ['a connection that takes too long', new Error('Connection terminated due to connection timeout')],
    ['a lost connection', new Error('Connection terminated unexpectedly')],
    ['a silent server', new Error('Query read timeout')],
  ])('%s is recognised, bare and wrapped, and has no SQLSTATE', (_, error) => {
    for (const each of [error, wrapped(error)]) {
      expect(sqlState(each)).toBeUndefined()
      expect(kindsOf(each)).toStrictEqual({ ...none, unreachable: true })
    }
  })
})

test.each([['EPERM'], ['EBUSY'], ['ESRCH']])('a five-letter code of the system, as %s, is no SQLSTATE', (code) => {
  expect(sqlState(coded('failed', code))).toBeUndefined()
})

test.each([
  ['an ordinary error', new Error('oops')],
  ['a programming error', new TypeError('x is not a function')],
  ['a thrown string', 'oops'],
  ['nothing', undefined],
])('%s is of no kind', (_, error) => {
  expect(kindsOf(error)).toStrictEqual(none)
})
