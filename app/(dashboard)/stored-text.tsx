/** Characters that cannot be seen or that turn the text around them: controls, zero-width ones, bidirectional marks and overrides. */
const unseen = /[\p{Cc}\p{Cf}\u2028\u2029]/gu

const spelledOut = (character: string) => `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`

/**
 * Text that somebody else stored, shown for what it is: markup as text, unseen characters spelled out as `\u202e`, its writing
 * direction kept to itself, and broken anywhere rather than wider than its place.
 */
export function StoredText({ text, className = '' }: { text: string; className?: string }) {
  return <bdi className={`[overflow-wrap:anywhere] ${className}`}>{text.replace(unseen, spelledOut)}</bdi>
}
