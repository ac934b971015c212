/**
 * Whether a page of this very origin sent the request. Browsers say so themselves (Fetch Metadata), but to a plain http address
 * other than the machine's own only through Origin, which a proxy may have moved away from Host; and with a GET of a page's own
 * origin they send no Origin at all.
 */
export function isFromOwnPage({ headers, method }: Request): boolean {
  const site = headers.get('sec-fetch-site')
  if (site !== null) return site === 'same-origin'
  const origin = headers.get('origin')
  // No other site's page can read the answer to a GET, and none changes anything.
  if (origin === null) return method === 'GET' || method === 'HEAD'
  if (!URL.canParse(origin)) return false
  const hosts = [headers.get('host'), headers.get('x-forwarded-host')?.split(',')[0]?.trim()]
  return hosts.includes(new URL(origin).host)
}
