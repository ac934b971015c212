import { methods } from '@/lib/http/methods'
import { route } from '@/lib/http/route'
import { machinesQuery } from '@/lib/protocol/overview'
import { listMachines } from '@/lib/queue/list-machines'

/** The machines that were seen last, at most 200, for people. 200 `{machines}`. */
const get = route({
  roles: ['viewer'],
  query: machinesQuery,
  handle: async ({ db, caller, input }) => ({
    machines: await listMachines(db, { orchestratorId: input.orchestratorId ?? caller.orchestratorId ?? undefined }),
  }),
})

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = methods({ GET: get })
