import { setImmediate as turn } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { coalesce } from '@/lib/instance/coalesce'

/** Statements that run until they are let go. */
function heldStatements() {
  const batches: number[][] = []
  const ends: (() => void)[] = []
  const call = coalesce<number, string>(async (inputs) => {
    batches.push([...inputs])
    await new Promise<void>((resolve) => ends.push(resolve))
    return inputs.map((input) => (input < 0 ? new Error(`no ${input}`) : `answer ${input}`))
  })
  const endAll = async () => {
    for (const end of ends.splice(0)) end()
    await turn()
    await turn()
  }
  return { call, batches, endAll }
}

test('a call that comes alone runs at once; those that come while two statements run share the next one', async () => {
  const { call, batches, endAll } = heldStatements()
  const answers: Promise<string>[] = []
  for (const n of [1, 2, 3, 4, 5]) {
    answers.push(call(n))
    await turn()
    await turn()
  }
  expect(batches).toStrictEqual([[1], [2]])
  await endAll()
  expect(batches).toStrictEqual([[1], [2], [3, 4, 5]])
  await endAll()
  expect(await Promise.all(answers)).toStrictEqual([1, 2, 3, 4, 5].map((n) => `answer ${n}`))
})

test('the error of one call is not that of the others', async () => {
  const { call, endAll } = heldStatements()
  const both = Promise.allSettled([call(1), call(-2)])
  await turn()
  await endAll()
  expect(await both).toMatchObject([{ value: 'answer 1' }, { reason: { message: 'no -2' } }])
})

test('a statement that fails fails the calls that share it, and those that come later run', async () => {
  let isDown = true
  const call = coalesce<number, number>(async (inputs) => {
    if (isDown) throw new Error('down')
    return [...inputs]
  })
  const failed = await Promise.allSettled([call(1), call(2), call(3)])
  expect(failed.map(({ status }) => status)).toStrictEqual(Array(3).fill('rejected'))
  isDown = false
  expect(await call(4)).toBe(4)
})

test('statements that are stuck do not hold back calls that come after them', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => {
    vi.useRealTimers()
  })
  const { call, batches, endAll } = heldStatements()
  const answers: Promise<string>[] = []
  for (const n of [1, 2, 3]) {
    answers.push(call(n))
    await turn()
    await turn()
  }
  expect(batches).toStrictEqual([[1], [2]])
  await vi.advanceTimersByTimeAsync(300)
  await turn()
  expect(batches).toStrictEqual([[1], [2], [3]])
  await endAll()
  expect(await Promise.all(answers)).toHaveLength(3)
})
