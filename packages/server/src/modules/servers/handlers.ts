import type { contract, ServerCheck } from '@berth/contract'
import type { Handlers } from '../../http/handler.ts'
import { listResponse } from '../../platform/db/pages.ts'
import { SharedRuns } from '../../platform/shared-runs.ts'
import { checkForCaller } from './check.ts'
import type { ServersDeps } from './deps.ts'
import { changeServer, createServer, removeServer, showServer } from './servers.ts'
import { listServersOf } from './store.ts'

export const serversHandlers = (
  deps: ServersDeps,
  checks = new SharedRuns<ServerCheck>(),
): Handlers<typeof contract.servers> => ({
  list: async ({ query }, { caller }) =>
    listResponse(await listServersOf(deps.database.db, caller.organizationId, query), showServer),
  create: async ({ body }, context) => {
    context.audit({ objectKind: 'server', made: 'srv' })
    return { data: await createServer(body, context.caller, deps) }
  },
  get: (_, { server }) => ({ data: showServer(server) }),
  update: async ({ body }, { server, caller }) => ({ data: await changeServer(server, body, caller, deps) }),
  remove: async (_, { server }) => {
    await removeServer(server, deps)
    return undefined
  },
  // A server controls how much it sends for a check, so concurrent checks share one response.
  check: async (_, { server }) => ({ data: await checks.run(server.id, () => checkForCaller(server, deps)) }),
})
