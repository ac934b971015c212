/**
 * Text that Postgres takes, whatever came in: reporting a failure or a progress note must not itself fail.
 * NUL and lone surrogates become U+FFFD, and a cut never splits a surrogate pair.
 *
 * @param maxLength in UTF-16 code units
 */
export function toStorableText(text: string, maxLength: number): string {
  const cut = text.length > maxLength ? text.slice(0, maxLength).replace(/[\uD800-\uDBFF]$/, '') : text
  return cut.toWellFormed().replaceAll('\0', '\uFFFD')
}
