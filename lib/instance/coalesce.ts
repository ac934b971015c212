import DataLoader from 'dataloader'

/** So many statements at once; who comes meanwhile shares the next one. */
const MAX_RUNNING = 2
const MAX_BATCH = 100
/** A statement that takes longer than this is stuck somewhere, and holds nobody back any more. */
const STUCK_AFTER_MS = 250

/**
 * Lets calls of this instance that come while others run share one statement, and thereby one commit. Alone, a call runs at
 * once.
 *
 * @param run answers many calls, in their order; an Error in the place of an answer is that call's
 */
export function coalesce<Input, Output>(
  run: (inputs: readonly Input[]) => Promise<(Output | Error)[]>,
): (input: Input) => Promise<Output> {
  let running = 0
  const waiting: (() => void)[] = []

  const begin = (dispatch: () => void) => {
    running += 1
    // Those whose requests were read in the same turn come along.
    setImmediate(dispatch)
  }
  const end = () => {
    running -= 1
    const next = waiting.shift()
    if (next !== undefined) begin(next)
  }

  const loader = new DataLoader<Input, Output>(
    async (inputs) => {
      let isCounted = true
      const endOnce = () => {
        if (isCounted) end()
        isCounted = false
      }
      const stuck = setTimeout(endOnce, STUCK_AFTER_MS)
      try {
        return await run(inputs)
      } finally {
        clearTimeout(stuck)
        endOnce()
      }
    },
    {
      cache: false,
      maxBatchSize: MAX_BATCH,
      batchScheduleFn: (dispatch) => {
        if (running < MAX_RUNNING) begin(dispatch)
        else waiting.push(dispatch)
      },
    },
  )
  return (input) => loader.load(input)
}
