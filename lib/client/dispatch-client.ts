import type { z } from 'zod'
import { type CallOptions, Transport, type TransportOptions } from '@/lib/client/transport'
import { type claimNextRequest, claimNextResponse, type claimRequest, claimResponse } from '@/lib/protocol/claim'
import { type enqueueRequest, enqueueResponse } from '@/lib/protocol/enqueue'
import { type createKeyRequest, createKeyResponse, listKeysResponse, revokeKeyResponse } from '@/lib/protocol/keys'
import { type pollRequest, pollResponse } from '@/lib/protocol/poll'
import { healthResponse, sweepResponse } from '@/lib/protocol/service'
import {
  type completeBatchRequest,
  completeBatchResponse,
  type completeRequest,
  completeResponse,
  type failRequest,
  failResponse,
  type heartbeatRequest,
  heartbeatResponse,
  type releaseRequest,
  releaseResponse,
} from '@/lib/protocol/settle'
import { workActionResponse, workListResponse, workResponse, type workState } from '@/lib/protocol/work'

/** Which work to list; `cursor` is the `nextCursor` of the page before. */
export interface WorkFilter {
  orchestratorId?: string | undefined
  state?: z.output<typeof workState> | undefined
  machineId?: string | undefined
  q?: string | undefined
  cursor?: string | undefined
  limit?: number | undefined
}

/**
 * Every route as a typed function. What is safe to repeat is repeated with growing delays when its answer was lost or the
 * server says to come back; each call says whether it is. All of them throw {@link DispatchError}.
 */
export class DispatchClient {
  readonly #transport: Transport

  constructor(options: TransportOptions) {
    this.#transport = new Transport(options)
  }

  /** Puts work into the queue. Safe to repeat: an item without an `enqueueId` gets one here. */
  enqueue(request: z.input<typeof enqueueRequest>, options?: CallOptions) {
    const items = request.items.map((item) => ({ ...item, enqueueId: item.enqueueId ?? crypto.randomUUID() }))
    return this.#post('/api/enqueue', { ...request, items }, enqueueResponse, options)
  }

  /** Renews what the machine holds, lists new work, names what is lost. Safe to repeat. */
  poll(request: z.input<typeof pollRequest>, options?: CallOptions) {
    return this.#post('/api/poll', request, pollResponse, { ...options, waitMs: request.waitMs })
  }

  /** Claims one piece of work; null when somebody else has it. Safe to repeat: the claim gets a token of its own here. */
  async claim(request: z.input<typeof claimRequest>, options?: CallOptions) {
    const claimToken = request.claimToken ?? crypto.randomUUID()
    const { claim } = await this.#post('/api/claim', { ...request, claimToken }, claimResponse, options)
    return claim
  }

  /** Claims the next pieces of work. Not repeated: what a lost answer had claimed is under `held` in the next poll. */
  async claimNext(request: z.input<typeof claimNextRequest>, options?: CallOptions) {
    const once = { ...options, waitMs: request.waitMs, isRepeatable: false }
    const { claims } = await this.#post('/api/claim/next', request, claimNextResponse, once)
    return claims
  }

  /** Renews one claim and notes its progress. Safe to repeat. */
  heartbeat(request: z.input<typeof heartbeatRequest>, options?: CallOptions) {
    return this.#post('/api/heartbeat', request, heartbeatResponse, options)
  }

  /** Finishes claimed work. Safe to repeat. */
  complete(request: z.input<typeof completeRequest>, options?: CallOptions) {
    return this.#post('/api/complete', request, completeResponse, options)
  }

  /** Finishes many claims, each completed or lost. Safe to repeat. */
  async completeBatch(request: z.input<typeof completeBatchRequest>, options?: CallOptions) {
    const { results } = await this.#post('/api/complete/batch', request, completeBatchResponse, options)
    return results
  }

  /** Reports a failed attempt. Repeating changes nothing, but is answered by claim-lost with reason `released`. */
  fail(request: z.input<typeof failRequest>, options?: CallOptions) {
    return this.#post('/api/fail', request, failResponse, options)
  }

  /** Gives a claim up. Repeating changes nothing, but is answered by claim-lost with reason `released`. */
  release(request: z.input<typeof releaseRequest>, options?: CallOptions) {
    return this.#post('/api/release', request, releaseResponse, options)
  }

  /** Lists live work and history, newest first. */
  listWork(filter: WorkFilter = {}, options?: CallOptions) {
    const query = new URLSearchParams()
    for (const [name, value] of Object.entries(filter)) if (value !== undefined) query.set(name, `${value}`)
    return this.#get(`/api/work?${query}`, workListResponse, options)
  }

  /** One piece of work, whole. */
  showWork(queueId: number, options?: CallOptions) {
    return this.#get(`/api/work/${queueId}`, workResponse, options)
  }

  /** Takes live work out of the queue for good. Not repeated: the second call would be refused. */
  cancelWork(queueId: number, options?: CallOptions) {
    return this.#act(queueId, 'cancel', options)
  }

  /** Puts failed or cancelled work back into the queue. Not repeated. */
  retryWork(queueId: number, options?: CallOptions) {
    return this.#act(queueId, 'retry', options)
  }

  /** Takes claimed work away from its holder. Not repeated. */
  releaseWork(queueId: number, options?: CallOptions) {
    return this.#act(queueId, 'release', options)
  }

  /** Makes a key. Not repeated: it would make two. */
  createKey(request: z.input<typeof createKeyRequest>, options?: CallOptions) {
    return this.#post('/api/keys', request, createKeyResponse, { ...options, isRepeatable: false })
  }

  async listKeys(options?: CallOptions) {
    const { keys } = await this.#get('/api/keys', listKeysResponse, options)
    return keys
  }

  /** Ends a key. Safe to repeat. */
  revokeKey(id: string, options?: CallOptions) {
    const path = `/api/keys/${encodeURIComponent(id)}`
    return this.#transport.send({ method: 'DELETE', path, answer: revokeKeyResponse, isRepeatable: true, ...options })
  }

  /** Sweeps and prunes now. Safe to repeat. */
  sweep(options?: CallOptions) {
    return this.#post('/api/sweep', undefined, sweepResponse, { ...options, waitMs: SWEEP_MS })
  }

  /** Whether the server can work. Not repeated, so that it tells what is so now. */
  health(options?: CallOptions) {
    return this.#transport.send({
      method: 'GET',
      path: '/api/health',
      answer: healthResponse,
      isRepeatable: false,
      ...options,
    })
  }

  #act(queueId: number, action: string, options?: CallOptions) {
    return this.#post(`/api/work/${queueId}/${action}`, undefined, workActionResponse, {
      ...options,
      isRepeatable: false,
    })
  }

  #get<Answer>(path: string, answer: z.ZodType<Answer>, options?: CallOptions) {
    return this.#transport.send({ method: 'GET', path, answer, isRepeatable: true, ...options })
  }

  #post<Answer>(
    path: string,
    body: unknown,
    answer: z.ZodType<Answer>,
    options?: CallOptions & { isRepeatable?: boolean; waitMs?: number | null | undefined },
  ) {
    const { isRepeatable = true, waitMs, signal } = options ?? {}
    return this.#transport.send({
      method: 'POST',
      path,
      body,
      answer,
      isRepeatable,
      waitMs: waitMs ?? undefined,
      signal,
    })
  }
}

/** A sweep answers within this long, in milliseconds. */
const SWEEP_MS = 25_000
