/** What the server refused, in its own words. */
class RequestError extends Error {
  override name = 'RequestError'
  readonly status: number

  constructor(status: number, detail: string) {
    super(detail)
    this.status = status
  }
}

/** Calls a route of this server with the page's session. @throws {RequestError} or a TypeError when there is no answer */
export async function request<Answer>(
  path: string,
  body?: unknown,
  method = body === undefined ? 'GET' : 'POST',
): Promise<Answer> {
  const response = await fetch(path, {
    method,
    ...(body !== undefined && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  })
  const text = await response.text()
  if (response.ok) return JSON.parse(text === '' ? 'null' : text)
  if (response.status === 401) window.location.assign('/sign-in?problem=session-ended')
  throw new RequestError(response.status, detailOf(text) ?? `The server answered ${response.status}.`)
}

function detailOf(text: string): string | undefined {
  try {
    return JSON.parse(text).detail
  } catch {
    return undefined
  }
}

/** A path with those parameters that have a value. */
export function pathWith(path: string, parameters: Record<string, string | number | null | undefined>): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== null && value !== '')
  const search = new URLSearchParams(given.map(([name, value]) => [name, `${value}`]))
  return given.length === 0 ? path : `${path}?${search}`
}
