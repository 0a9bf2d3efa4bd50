import type { contract } from '@berth/contract'
import type { Handlers } from '../../../http/handler.ts'
import type { ProjectsDeps } from '../deps.ts'
import { connectDomain } from '../domains/domains.ts'
import { setCloneToken, showCloneToken } from '../git/clone-token.ts'
import { listEnvironments } from '../store.ts'
import { changeEnv, listEnv } from './env.ts'
import { createEnvironment, showEnvironments } from './environments.ts'
import { setResources, showResources } from './resources.ts'

type Rows = Handlers<typeof contract.projects>
type SettingsHandlers = Pick<
  Rows,
  | 'listEnvironments'
  | 'createEnvironment'
  | 'listEnv'
  | 'changeEnv'
  | 'getCloneToken'
  | 'setCloneToken'
  | 'getResources'
  | 'setResources'
  | 'connectDomain'
>

/** What a project has a list or a page of its own for. */
export function settingsHandlers(deps: ProjectsDeps): SettingsHandlers {
  const { db } = deps.database
  return {
    listEnvironments: async ({ query }, { project }) => {
      const { rows, nextCursor } = await listEnvironments(db, project.id, query)
      return { data: await showEnvironments(rows, project, deps), nextCursor }
    },
    createEnvironment: async ({ body }, context) => {
      const row = await createEnvironment(context.project, body, deps)
      context.audit({ objectKind: 'environment', objectId: row.id })
      const [environment] = await showEnvironments([row], context.project, deps)
      return { data: environment! }
    },
    listEnv: async ({ query }, { project }) => ({ data: await listEnv(project, query.environment ?? 'production', deps) }),
    changeEnv: async ({ body }, { project }) => ({ data: await changeEnv(project, body, deps) }),
    getCloneToken: (_, { project }) => ({ data: showCloneToken(project) }),
    setCloneToken: async ({ body }, { project }) => ({ data: await setCloneToken(project, body.token, deps) }),
    getResources: (_, { project }) => ({ data: showResources(project) }),
    setResources: async ({ body }, { project }) => ({ data: await setResources(project, body, deps) }),
    connectDomain: async ({ body }, context) => {
      const { domain, isNew } = await connectDomain(context.project, body.domain, deps)
      if (isNew) context.setStatus(201)
      return { data: domain }
    },
  }
}
