import { duration } from '@/app/(dashboard)/format'
import { card, dots } from '@/app/(dashboard)/look'
import { StoredText } from '@/app/(dashboard)/stored-text'
import type { WholeWork } from '@/app/(dashboard)/work/[queueId]/one-work'

const looks: Record<string, string | undefined> = { ...dots, expired: 'bg-stale', released: 'bg-idle' }

/** All attempts in order: who, when, how each ended; the one that runs comes last. */
export function Timeline({ work }: { work: WholeWork }) {
  const { attemptLog, state, attempts, claimedBy, claimedAt } = work
  const isRunning = state === 'claimed' || state === 'stale'
  return (
    <section aria-labelledby="attempts" className={`${card} px-5 py-4`}>
      <h2 id="attempts" className="font-semibold">
        Attempts
      </h2>
      {attemptLog.length === 0 && !isRunning && <p className="mt-2 text-sm text-muted">No machine has had it yet.</p>}
      <ol className="mt-3 grid gap-4 text-sm">
        {attemptLog.map(({ attempt, machine, claimedAt: from, endedAt, how, error }) => (
          <li key={`${attempt} ${endedAt}`} className="grid grid-cols-[auto_1fr] gap-x-3">
            <span className={`mt-1.5 size-2.5 rounded-full ${looks[how]}`} aria-hidden="true" />
            <div className="min-w-0">
              <p>
                {`Attempt ${attempt} ${how} on `}
                {machine === null ? 'a machine without a name' : <StoredText text={machine} />}
                {from !== null && ` after ${duration(Date.parse(endedAt) - Date.parse(from))}`}
              </p>
              <p className="text-muted">{`${from ?? 'an unknown time'} to ${endedAt}`}</p>
              {error !== null && <StoredText text={error} className="text-failed" />}
            </div>
          </li>
        ))}
        {isRunning && (
          <li className="grid grid-cols-[auto_1fr] gap-x-3">
            <span className={`mt-1.5 size-2.5 rounded-full ${dots[state]}`} aria-hidden="true" />
            <div>
              <p>
                {`Attempt ${attempts} runs on `}
                {claimedBy === null ? 'a machine without a name' : <StoredText text={claimedBy} />}
              </p>
              <p className="text-muted">{`since ${claimedAt}`}</p>
            </div>
          </li>
        )}
      </ol>
    </section>
  )
}
