import { LRUCache } from 'lru-cache'
import type { Db } from '@/lib/db/client'
import type { Claim } from '@/lib/queue/claim'
import {
  type ClaimNextInput,
  type Place,
  type Scan,
  type SlotClaim,
  scanForClaims,
  scanForSlots,
} from '@/lib/queue/claim-next'

/** A scan that takes Postgres less than this is left alone. */
const SLOW_MS = 1
/** So many times as long as a hinted one has a scan to take before the hint is used. */
const WORTHWHILE = 1.3
/** What was learnt of hinted scans counts for so long; then one of them is measured again. */
const KNOWN_FOR_MS = 1_000
/** Of the time spent on scans, so much goes into those from the beginning while the hint is used. */
const SHARE_FROM_THE_BEGINNING = 0.05
/** The weight of the newest figure in a running mean. */
const NEWEST = 0.2

const MAX_ORCHESTRATORS = 1_000

type ScanFrom<Found> = (from?: Place) => Promise<Scan<Found>>

/**
 * Where an orchestrator's last claim was, as a hint to begin the next scan there.
 *
 * Claimed rows stay in the index of claimable rows as dead entries until a vacuum removes them, and while a transaction is open
 * anywhere no vacuum may (Postgres manual, section 24.1.2): each scan then walks over all that was claimed since. The hint is
 * used only while scans are measured slow, and is never needed: work that stands before it (retried, of better priority, committed
 * late) is found by scans from the beginning, which get their share of the time.
 */
export class ClaimHint {
  #place: Place | undefined
  /** Counts the hint's changes by others than the scan that began under it. */
  #epoch = 0
  #fullMs = 0
  #hintedMs: number | undefined
  #hintedAt = 0
  /** Milliseconds that scans from the beginning may take by now. */
  #allowanceMs = 0

  /** Claims as {@link scanForClaims} does; `scan` is that function, bound to its input. */
  async claim<Found>(limit: number, scan: ScanFrom<Found>): Promise<Found[]> {
    const place = this.#slowPlace()
    if (place === undefined) return this.#claimFromTheBeginning(scan)
    if (this.#allowanceMs >= this.#fullMs) return this.#claimOnAllowance(scan)

    const epoch = this.#epoch
    const { claims, end, tookMs } = await scan(place)
    this.#learn(tookMs)
    if (claims.length < limit) this.forget()
    else if (epoch === this.#epoch) this.#place = end
    return claims.length === 0 ? this.#claimFromTheBeginning(scan) : claims
  }

  /** Work came in or back that may stand before the hint. */
  forget(): void {
    this.#place = undefined
    this.#epoch += 1
  }

  /** Work of this priority came in. What is due from now on stands behind all that was due before, unless its priority is better. */
  makeRoomFor(priority: number): void {
    if (this.#place !== undefined && priority < this.#place.priority) this.forget()
  }

  /** The hint, if scans from the beginning are slow. */
  #slowPlace(): Place | undefined {
    if (this.#place === undefined || this.#fullMs < SLOW_MS) return undefined
    const isKnown = performance.now() - this.#hintedAt < KNOWN_FOR_MS
    if (isKnown && this.#hintedMs !== undefined && this.#fullMs < WORTHWHILE * this.#hintedMs) return undefined
    return this.#place
  }

  async #claimOnAllowance<Found>(scan: ScanFrom<Found>): Promise<Found[]> {
    // Taken before the scan, so that of many callers one goes to the beginning.
    const expectedMs = this.#fullMs
    this.#allowanceMs -= expectedMs
    return this.#claimFromTheBeginning(scan, (tookMs) => {
      this.#allowanceMs -= tookMs - expectedMs
    })
  }

  async #claimFromTheBeginning<Found>(
    scan: ScanFrom<Found>,
    onMeasured: (tookMs: number) => void = () => {},
  ): Promise<Found[]> {
    const epoch = this.#epoch
    const { claims, end, tookMs } = await scan()
    if (tookMs !== undefined) onMeasured(tookMs)
    if (tookMs !== undefined) this.#fullMs += NEWEST * (tookMs - this.#fullMs)
    // Not where work came in meanwhile that this scan may not have seen.
    if (epoch === this.#epoch) {
      this.#place = end
      this.#epoch += 1
    }
    return claims
  }

  #learn(tookMs: number | undefined): void {
    if (tookMs === undefined) return
    this.#hintedMs = (this.#hintedMs ?? tookMs) + NEWEST * (tookMs - (this.#hintedMs ?? tookMs))
    this.#hintedAt = performance.now()
    this.#allowanceMs += (tookMs * SHARE_FROM_THE_BEGINNING) / (1 - SHARE_FROM_THE_BEGINNING)
  }
}

const hints = new WeakMap<Db, LRUCache<string, ClaimHint>>()

function hintsOf(db: Db): LRUCache<string, ClaimHint> {
  let own = hints.get(db)
  if (own === undefined) {
    own = new LRUCache({ max: MAX_ORCHESTRATORS })
    hints.set(db, own)
  }
  return own
}

function hintOf(db: Db, orchestratorId: string): ClaimHint {
  const own = hintsOf(db)
  const hint = own.get(orchestratorId) ?? new ClaimHint()
  own.set(orchestratorId, hint)
  return hint
}

/** Claims the next work, beginning where this instance claimed last if scans from the beginning have become slow. */
export function claimNextByHint(db: Db, input: ClaimNextInput): Promise<Claim[]> {
  return hintOf(db, input.orchestratorId).claim(input.limit, (from) => scanForClaims(db, input, from))
}

/** {@link claimNextByHint} for several callers, one claim each. */
export function claimSlotsByHint(db: Db, input: Parameters<typeof scanForSlots>[1]): Promise<SlotClaim[]> {
  return hintOf(db, input.orchestratorId).claim(input.slots.length, (from) => scanForSlots(db, input, from))
}

/** Takes in that work came in or back, of one orchestrator or of any. */
export function forgetClaimHint(db: Db, orchestratorId?: string): void {
  const own = hintsOf(db)
  if (orchestratorId !== undefined) own.get(orchestratorId)?.forget()
  else for (const hint of own.values()) hint.forget()
}

/** Takes in that work of a priority came in. */
export function makeRoomBeforeClaimHint(db: Db, orchestratorId: string, priority: number): void {
  hintsOf(db).get(orchestratorId)?.makeRoomFor(priority)
}
