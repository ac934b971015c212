import { toJson } from '@/lib/http/json'

/** What a route would answer, for a page's first paint. */
export const asWire = <Answer>(answer: unknown): Answer => JSON.parse(toJson(answer))
