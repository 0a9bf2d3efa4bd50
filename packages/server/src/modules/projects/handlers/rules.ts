import type { contract } from '@berth/contract'
import type { Handlers } from '../../../http/handler.ts'
import type { ProjectsDeps } from '../deps.ts'
import { createRule, listRules, removeRule, showRule, updateRule } from '../rules/rules.ts'

type Rows = Partial<Handlers<typeof contract.projects>>

/** Handlers of the route rules that the edge applies to a project's requests. */
export function ruleHandlers(deps: ProjectsDeps) {
  return {
    listRules: async ({ query }, { project }) => {
      const { rows, nextCursor } = await listRules(deps.database.db, project.id, query)
      return { data: rows.map(showRule), nextCursor }
    },
    createRule: async ({ body }, { project, audit }) => {
      audit({ objectKind: 'routeRule', made: 'rul' })
      return { data: showRule(await createRule(project, body, deps)) }
    },
    updateRule: async ({ body }, { routeRule, caller }) => ({
      data: showRule(await updateRule(routeRule, caller.organizationId, body, deps)),
    }),
    removeRule: async (_, { routeRule, caller }) => {
      await removeRule(routeRule, caller.organizationId, deps)
    },
  } satisfies Rows
}
