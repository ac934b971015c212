import { expect, test } from 'vitest'
import { findCachedKey, noteCachedKeyUse, revokeCachedKey } from '@/lib/instance/key-cache'
import { hashKey } from '@/lib/queue/create-key'
import { setUpDatabase } from '../support/db'
import { waitUntilBlocked } from '../support/gate'
import { recordStatements } from '../support/statements'
import { letTimePass } from './clock'
import { appEnvironment, insertKey } from './instance'

const database = await setUpDatabase({ environment: appEnvironment() })
Object.assign(process.env, database.environment)
const { sql } = database
await slowLookUps()
const open = () => database.open().db

/** An issued key, by its hash and its id. */
async function issue() {
  const hash = hashKey(await insertKey(sql, 'producer'))
  const [row] = await sql<{ id: string }>('SELECT id FROM api_keys WHERE key_hash = $1', [hash])
  return { hash, id: row?.id ?? '' }
}
const lookUps = (statements: string[]) => statements.filter((text) => text.includes('FROM api_keys WHERE key_hash'))

test('a key is looked up once in 30 s, and again after them', async () => {
  const [db, key] = [open(), await issue()]
  const { statements } = await recordStatements(database, async () => {
    for (let n = 0; n < 10; n += 1)
      expect(await findCachedKey(db, key.hash)).toMatchObject({ id: key.id, role: 'producer' })
    await letTimePass(29_000)
    expect(await findCachedKey(db, key.hash)).toMatchObject({ id: key.id })
  })
  expect(lookUps(statements)).toHaveLength(1)
  const { statements: later } = await recordStatements(database, async () => {
    await letTimePass(2_000)
    await findCachedKey(db, key.hash)
  })
  expect(lookUps(later)).toHaveLength(1)
})

test('a key that is not good is looked up once in 30 s too, and is good soon after it was issued', async () => {
  const [db, key] = [open(), await issue()]
  await sql('UPDATE api_keys SET key_hash = $2 WHERE id = $1', [key.id, hashKey('another')])
  const { statements } = await recordStatements(database, async () => {
    for (let n = 0; n < 10; n += 1) expect(await findCachedKey(db, key.hash)).toBeUndefined()
  })
  expect(lookUps(statements)).toHaveLength(1)
  await sql('UPDATE api_keys SET key_hash = $2 WHERE id = $1', [key.id, key.hash])
  await letTimePass(31_000)
  expect(await findCachedKey(db, key.hash)).toMatchObject({ id: key.id })
})

test('a revocation is felt at once on the instance that took it, and within 30 s on another', async () => {
  const [here, there, key] = [open(), open(), await issue()]
  for (const db of [here, there]) expect(await findCachedKey(db, key.hash)).toBeDefined()
  await revokeCachedKey(here, key.id)
  expect(await findCachedKey(here, key.hash)).toBeUndefined()
  expect(await findCachedKey(there, key.hash)).toBeDefined()
  await letTimePass(30_001)
  expect(await findCachedKey(there, key.hash)).toBeUndefined()
})

test('a revocation leaves the other keys in the memory', async () => {
  const [db, key, other] = [open(), await issue(), await issue()]
  await findCachedKey(db, other.hash)
  await revokeCachedKey(db, key.id)
  const { statements } = await recordStatements(database, () => findCachedKey(db, other.hash))
  expect(lookUps(statements)).toHaveLength(0)
})

test('a look-up that was under way during a revocation is not kept', async () => {
  const [db, key] = [open(), await issue()]
  const holder = await database.connect()
  await holder.query('SELECT pg_advisory_lock(7)')
  const lookUp = findCachedKey(db, key.hash)
  await waitUntilBlocked(database, 1)
  await revokeCachedKey(db, key.id)
  await holder.query('SELECT pg_advisory_unlock(7)')
  expect(await lookUp, 'it read the key before the revocation').toMatchObject({ id: key.id })
  expect(await findCachedKey(db, key.hash)).toBeUndefined()
})

test('a use is noted at most once a minute, by one instance and by several', async () => {
  const [here, there, key] = [open(), open(), await issue()]
  const notes = async (db: typeof here) => {
    const { statements } = await recordStatements(database, async () => noteCachedKeyUse(db, key.id))
    return statements.filter((text) => text.includes('SET last_used_at')).length
  }
  const lastUse = async () => (await sql('SELECT last_used_at FROM api_keys WHERE id = $1', [key.id]))[0]?.last_used_at
  expect([await notes(here), await notes(here)]).toStrictEqual([1, 0])
  const noted = await lastUse()
  expect(await notes(there)).toBe(1)
  expect(await lastUse(), 'the statement of another instance changed nothing').toBe(noted)
  await letTimePass(60_001)
  await sql(`UPDATE api_keys SET last_used_at = last_used_at - interval '1 minute' WHERE id = $1`, [key.id])
  expect(await notes(here)).toBe(1)
  expect(await lastUse()).not.toBe(noted)
})

test('a use that cannot be noted fails nothing, and is noted with the next one', async () => {
  const [db, key] = [open(), await issue()]
  const lastUse = async () => (await sql('SELECT last_used_at FROM api_keys WHERE id = $1', [key.id]))[0]?.last_used_at
  await sql('ALTER VIEW api_keys RENAME TO keys_elsewhere')
  await noteCachedKeyUse(db, key.id)
  await sql('ALTER VIEW keys_elsewhere RENAME TO api_keys')
  expect(await lastUse()).toBeNull()
  await noteCachedKeyUse(db, key.id)
  expect(await lastUse()).not.toBeNull()
})

/** Makes every SELECT of keys wait, once it has its snapshot, while somebody holds advisory lock 7; writes do not. */
async function slowLookUps(): Promise<void> {
  await sql('ALTER TABLE api_keys RENAME TO stored_keys')
  await sql(`
    CREATE FUNCTION wait_for_lock() RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$ BEGIN
      IF current_query() ILIKE 'SELECT%' THEN PERFORM pg_advisory_xact_lock_shared(7); END IF;
      RETURN true;
    END $$`)
  await sql('CREATE VIEW api_keys AS SELECT * FROM stored_keys WHERE wait_for_lock()')
}
