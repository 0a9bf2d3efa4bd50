import type { contract } from '@berth/contract'
import type { Handlers } from '../../http/handler.ts'
import { adopt } from './adopt.ts'
import type { MigrationDeps } from './deps.ts'
import { scan } from './scan.ts'

export const migrationHandlers = (deps: MigrationDeps): Handlers<typeof contract.migration> => ({
  scan: async ({ body }, { caller }) => ({ success: true, stack: await scan(body.serverId, caller, deps) }),
  adopt: async ({ body, query }, context) => {
    if (!query.plan) context.audit({ objectKind: 'project', made: 'prj' })
    const answer = await adopt(body, query.plan ?? false, context.caller, deps)
    if (!answer.project) context.setStatus(200)
    return answer
  },
})
