import { expect, test } from 'vitest'
import { createKey, hashKey } from '@/lib/queue/create-key'
import { findKey, findKeyById } from '@/lib/queue/find-key'
import { listKeys } from '@/lib/queue/list-keys'
import { noteKeyUse } from '@/lib/queue/note-key-use'
import { revokeKey } from '@/lib/queue/revoke-key'
import { setUpDatabase } from '../support/db'
import { refusalOf } from './holders'

const { db, sql } = await setUpDatabase()
const make = (name = 'laptops') => createKey(db, { name, role: 'orchestrator', orchestratorId: 'acme' })

test('a key is stored as its hash alone: nothing in the database helps to find it', async () => {
  const { key, id, prefix } = await make()
  const [row] = await sql<{ text: string; key_hash: string }>(
    'SELECT to_jsonb(k)::text AS text, key_hash FROM api_keys k WHERE id = $1',
    [id],
  )
  expect(row?.key_hash).toBe(hashKey(key))
  expect(row?.text).not.toContain(key.slice(prefix.length))
  expect(prefix.length).toBeLessThan(key.length / 3)
  expect(JSON.stringify(await listKeys(db))).not.toContain(key.slice(prefix.length))
})

test('a key is found by its hash and by its id, until it is revoked', async () => {
  const { key, id } = await make()
  const found = { id, role: 'orchestrator', orchestratorId: 'acme', keyHash: hashKey(key) }
  expect(await findKey(db, hashKey(key))).toStrictEqual(found)
  expect(await findKeyById(db, id)).toStrictEqual(found)
  expect(await findKey(db, hashKey(`${key}x`))).toBeUndefined()
  await revokeKey(db, id)
  expect(await findKey(db, hashKey(key))).toBeUndefined()
  expect(await findKeyById(db, id)).toBeUndefined()
})

test('a revocation can be repeated, and keeps the time of the first; an unknown key is refused', async () => {
  const { id } = await make()
  await revokeKey(db, id)
  const first = (await listKeys(db)).find((key) => key.id === id)
  await revokeKey(db, id)
  expect((await listKeys(db)).find((key) => key.id === id)).toStrictEqual(first)
  expect(first?.revokedAt).toBeInstanceOf(Date)
  expect(await refusalOf(revokeKey(db, crypto.randomUUID()))).toStrictEqual({ code: 'not-found' })
})

test('keys are listed newest first; a use is written at most once a minute', async () => {
  const [older, newer] = [await make('older'), await make('newer')]
  const names = (await listKeys(db)).map(({ name }) => name)
  expect(names.indexOf('newer')).toBeLessThan(names.indexOf('older'))
  const usedAt = async () => (await sql('SELECT last_used_at FROM api_keys WHERE id = $1', [older.id]))[0]?.last_used_at
  await noteKeyUse(db, older.id)
  const first = await usedAt()
  await noteKeyUse(db, older.id)
  expect(await usedAt()).toBe(first)
  await sql(`UPDATE api_keys SET last_used_at = now() - interval '61 seconds' WHERE id = $1`, [older.id])
  const stale = await usedAt()
  await noteKeyUse(db, older.id)
  expect(await usedAt()).not.toBe(stale)
  expect(newer.lastUsedAt).toBeNull()
})
