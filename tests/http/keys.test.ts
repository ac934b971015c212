import { createHash, randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { createKeyResponse, listKeysResponse } from '@/lib/protocol/keys'
import { newOrchestratorId } from '../support/factories'
import { expectAnswer, expectInvalid, expectProblem } from './answers'
import { ADMIN_KEY, everyRow, setUpInstance } from './instance'

const { sql, send } = await setUpInstance()

const create = async (json: object) =>
  expectAnswer(await send('POST', '/api/keys', { key: ADMIN_KEY, json }), 201, createKeyResponse)
const list = async () => expectAnswer(await send('GET', '/api/keys', { key: ADMIN_KEY }), 200, listKeysResponse).keys
const revoke = (id: string, key: string = ADMIN_KEY) => send('DELETE', `/api/keys/${id}`, { key })
const poll = (orchestratorId: string, key: string) => send('GET', `/api/poll?orchestratorId=${orchestratorId}`, { key })

/** Everything that any table of the database holds, as text. */
async function dump(): Promise<string> {
  const tables = await sql<{ name: string }>(
    `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables WHERE schemaname IN ('public', 'drizzle')`,
  )
  const rows = await Promise.all(tables.map(({ name }) => sql(`SELECT t::text FROM ${name} AS t`)))
  return JSON.stringify(rows)
}

describe('POST /api/keys', () => {
  test('201 with a key that works for its role and its orchestrator, and for no other', async () => {
    const orchestratorId = newOrchestratorId()
    const created = await create({ name: 'laptop', role: 'orchestrator', orchestratorId })
    expect(created).toMatchObject({
      name: 'laptop',
      role: 'orchestrator',
      orchestratorId,
      lastUsedAt: null,
      revokedAt: null,
    })
    expect((await poll(orchestratorId, created.key)).status).toBe(200)
    expectProblem(await poll(newOrchestratorId(), created.key), 403, 'forbidden')
    expectProblem(await send('GET', '/api/keys', { key: created.key }), 403, 'forbidden')
  })

  test('201 with a key of 256 random bits, of which the database has the SHA-256 and the beginning', async () => {
    const before = await list()
    const { key, id, prefix } = await create({ name: 'ci', role: 'producer', orchestratorId: null })
    expect(key).toMatch(/^dq_[\w-]{43}$/)
    expect(key.startsWith(prefix)).toBe(true)
    expect(prefix.length).toBeLessThanOrEqual(12)
    const everything = await dump()
    expect(everything).not.toContain(key)
    expect(everything).not.toContain(key.slice(3))
    expect(everything).toContain(createHash('sha256').update(key).digest('hex'))
    const listed = await send('GET', '/api/keys', { key: ADMIN_KEY })
    expect(listed.text).not.toContain(key)
    expect(listed.text).not.toContain(createHash('sha256').update(key).digest('hex'))
    expect((await list()).map((one) => one.id)).toStrictEqual([id, ...before.map((one) => one.id)])
  })

  test('201 twice for the same request: two keys', async () => {
    const [first, second] = [
      await create({ name: 'same', role: 'viewer' }),
      await create({ name: 'same', role: 'viewer' }),
    ]
    expect(first.id).not.toBe(second.id)
    expect(first.key).not.toBe(second.key)
  })

  test.each([
    [{ name: 'x', role: 'orchestrator' }, ['orchestratorId']],
    [{ name: 'x', role: 'orchestrator', orchestratorId: null }, ['orchestratorId']],
    [{ name: 'x', role: 'admin', orchestratorId: 'a' }, ['orchestratorId']],
    [{ name: 'x', role: 'root' }, ['role']],
    [{ role: 'viewer' }, ['name']],
  ])('400 for %o', async (json, paths) => {
    const before = await everyRow(sql)
    expectInvalid(await send('POST', '/api/keys', { key: ADMIN_KEY, json }), ...paths)
    expect(await everyRow(sql)).toStrictEqual(before)
  })

  test.each([
    ['producer', 201],
    ['viewer', 200],
    ['admin', 200],
  ] as const)('%s keys need no orchestrator', async (role, status) => {
    const { key } = await create({ name: role, role })
    const answer =
      role === 'producer'
        ? await send('POST', '/api/enqueue', {
            key,
            json: { orchestratorId: newOrchestratorId(), items: [{ payload: 1 }] },
          })
        : await send('GET', '/api/work', { key })
    expect(answer.status).toBe(status)
  })
})

describe('DELETE /api/keys/{id}', () => {
  test('204, felt at once on this instance, and 204 again; when it was revoked does not change', async () => {
    const orchestratorId = newOrchestratorId()
    const { id, key } = await create({ name: 'stolen', role: 'orchestrator', orchestratorId })
    expect((await poll(orchestratorId, key)).status).toBe(200)
    expect(await revoke(id)).toMatchObject({ status: 204, text: '' })
    expectProblem(await poll(orchestratorId, key), 401, 'unauthorized')
    const revokedAt = (await list()).find((one) => one.id === id)?.revokedAt
    expect(revokedAt).toEqual(expect.any(String))
    expect((await revoke(id)).headers.get('cache-control')).toMatch(/^no-store\b/)
    expect((await list()).find((one) => one.id === id)?.revokedAt).toBe(revokedAt)
  })

  test('204 for an admin key that revokes itself, and then 401', async () => {
    const { id, key } = await create({ name: 'self', role: 'admin' })
    expect((await revoke(id, key)).status).toBe(204)
    expectProblem(await revoke(id, key), 401, 'unauthorized')
  })

  test('404 for no such key, 400 for what is no id', async () => {
    const before = await everyRow(sql)
    expectProblem(await revoke(randomUUID()), 404, 'not-found')
    for (const id of ['1', 'abc', `${randomUUID()}x`, '%7B%7D']) expectInvalid(await revoke(id), 'id')
    expect(await everyRow(sql)).toStrictEqual(before)
  })

  test('401 for a call of a machine whose key was revoked while it worked, and its claim stays as it was', async () => {
    const orchestratorId = newOrchestratorId()
    const { id, key } = await create({ name: 'laptop', role: 'orchestrator', orchestratorId })
    await sql(`INSERT INTO dispatch_queue (orchestrator_id, payload) VALUES ($1, '1')`, [orchestratorId])
    const answer = await send('POST', '/api/claim/next', { key, json: { orchestratorId } })
    expect(answer.body).toMatchObject({ claims: { length: 1 } })
    await revoke(id)
    const before = await everyRow(sql)
    expectProblem(await send('POST', '/api/complete', { key, json: {} }), 401, 'unauthorized')
    expect(await everyRow(sql)).toStrictEqual(before)
  })
})

test('when a key was last used is noted with its first good use, and not by a refused one', async () => {
  const orchestratorId = newOrchestratorId()
  const { id, key } = await create({ name: 'laptop', role: 'orchestrator', orchestratorId })
  const lastUse = () => sql('SELECT last_used_at FROM api_keys WHERE id = $1', [id])
  expectProblem(await poll(newOrchestratorId(), key), 403, 'forbidden')
  expectProblem(await send('GET', '/api/keys', { key }), 403, 'forbidden')
  expect(await lastUse()).toStrictEqual([{ last_used_at: null }])
  await poll(orchestratorId, key)
  await expect.poll(lastUse).toStrictEqual([{ last_used_at: expect.any(String) }])
  const noted = await lastUse()
  await poll(orchestratorId, key)
  expect(await lastUse()).toStrictEqual(noted)
})
