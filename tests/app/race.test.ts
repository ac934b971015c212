import { expect, test } from 'vitest'
import { claimResponse } from '@/lib/protocol/claim'
import { expectAnswer } from '../http/answers'
import { newOrchestrator } from '../http/instance'
import { insertWork, onlyRow } from '../support/factories'
import { setUpServed } from './served'

const { database, send } = await setUpServed()
const { sql } = database

test.each([5, 200])(
  'of %i machines that claim one piece of work over HTTP at once, one gets the payload and the others null',
  async (count) => {
    const { orchestratorId, key } = await newOrchestrator(sql)
    const { queueId } = await insertWork(sql, { orchestratorId, payload: { issue: 'ENG-142' } })
    const answers = await Promise.all(
      Array.from({ length: count }, (_, n) =>
        send('POST', '/api/claim', { key, json: { orchestratorId, queueId, machineId: `machine-${n}` } }),
      ),
    )
    const claims = answers
      .map((answer) => expectAnswer(answer, 200, claimResponse).claim)
      .filter((claim) => claim !== null)
    expect(claims).toMatchObject([{ queueId, payload: { issue: 'ENG-142' }, attempts: 1 }])
    expect(await onlyRow(sql, queueId)).toMatchObject({ attempts: 1, claim_token: claims[0]?.claimToken })
  },
)
