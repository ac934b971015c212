import { expect, test } from 'vitest'
import { createTestDatabase } from '../support/db'
import { insertWork } from '../support/factories'
import { findUnguardedWrites } from '../support/statements'

test.each([
  'UPDATE dispatch_queue SET attempts = 0',
  'delete from dispatch_queue',
  `UPDATE a SET b = 'WHERE' -- WHERE`,
  'UPDATE a SET b = "where"',
  'WITH done AS (DELETE FROM a RETURNING *) SELECT * FROM done WHERE id = 1',
  'UPDATE a SET b = (SELECT c FROM d WHERE e)',
])('%s is found to be without a WHERE', (text) => {
  expect(findUnguardedWrites([text])).toStrictEqual([text])
})

test.each([
  'UPDATE dispatch_queue SET attempts = 0 WHERE id = $1',
  'WITH done AS (DELETE FROM a WHERE id = ANY (ARRAY(SELECT id FROM b)) RETURNING *) INSERT INTO c SELECT * FROM done',
  'SELECT id FROM a FOR UPDATE SKIP LOCKED',
  'SELECT id FROM a FOR NO KEY UPDATE',
  'INSERT INTO a VALUES (1) ON CONFLICT (id) DO UPDATE SET b = 1',
  `SELECT 'UPDATE a SET b = 1'`,
])('%s is not', (text) => {
  expect(findUnguardedWrites([text])).toStrictEqual([])
})

test('a test database refuses to close quietly when a write without a WHERE was sent to it', async () => {
  const database = await createTestDatabase()
  await insertWork(database.sql)
  await database.db.execute('UPDATE dispatch_queue SET attempts = 0')
  await expect(database.close()).rejects.toThrow(/written without a WHERE:\nUPDATE dispatch_queue/)
})

test('a test database of which only its tests wrote so closes quietly, and is gone', async () => {
  const database = await createTestDatabase()
  await database.sql('UPDATE dispatch_queue SET attempts = 0')
  await database.close()
  const other = await createTestDatabase()
  expect(await other.sql('SELECT FROM pg_database WHERE datname = $1', [database.name])).toStrictEqual([])
  await other.close()
})
