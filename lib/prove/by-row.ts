/** What belongs to each piece of work, in the order in which it is given. */
export function byRow<T extends { queueId: number }>(entries: readonly T[]): Map<number, T[]> {
  const rows = new Map<number, T[]>()
  for (const entry of entries) {
    const row = rows.get(entry.queueId)
    if (row) row.push(entry)
    else rows.set(entry.queueId, [entry])
  }
  return rows
}
