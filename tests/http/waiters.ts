import { setTimeout as sleep } from 'node:timers/promises'
import { getConfig } from '@/lib/config'
import { getDb } from '@/lib/db/client'
import { waitingRoom } from '@/lib/instance/waiting-room'
import { claimNextResponse } from '@/lib/protocol/claim'
import { pollQueryResponse, pollResponse } from '@/lib/protocol/poll'
import { expectAnswer } from './answers'
import type { Instance } from './instance'
import { newOrchestrator } from './instance'

/** Resolves as soon as so many callers of this process wait for work. */
export async function untilWaiting(count: number): Promise<void> {
  const room = waitingRoom(getDb(), getConfig())
  for (const end = Date.now() + 20_000; room.size !== count; await sleep(5)) {
    if (Date.now() > end) throw new Error(`${room.size} wait, not ${count}`)
  }
}

/** An orchestrator and the calls of its machines that wait for work, 25 s unless told. */
export async function setUpWaiters({ sql, send }: Instance) {
  const { orchestratorId, key } = await newOrchestrator(sql)
  const get = async (machineId: string, waitMs = 25_000, signal?: AbortSignal) =>
    expectAnswer(
      await send('GET', `/api/poll?orchestratorId=${orchestratorId}&machineId=${machineId}&waitMs=${waitMs}`, {
        key,
        ...(signal && { signal }),
      }),
      200,
      pollQueryResponse,
    )
  const post = async (json: object, signal?: AbortSignal) =>
    expectAnswer(
      await send('POST', '/api/poll', {
        key,
        json: { orchestratorId, waitMs: 25_000, ...json },
        ...(signal && { signal }),
      }),
      200,
      pollResponse,
    )
  const next = async (json: object) =>
    expectAnswer(
      await send('POST', '/api/claim/next', { key, json: { orchestratorId, waitMs: 25_000, ...json } }),
      200,
      claimNextResponse,
    )
  return { orchestratorId, key, get, post, next }
}
