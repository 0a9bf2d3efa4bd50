import { type contract, levelOfRole, reaches } from '@berth/contract'
import { BadCursor } from '../../db/pages.ts'
import type { DeploymentRow } from '../../db/tables/deployments.ts'
import { fail } from '../../failure.ts'
import type { Caller, Handlers } from '../../http/handler.ts'
import { isLogId } from '../../log-store/log-entry.ts'
import { askForDeployment } from './ask.ts'
import { cancelDeployment } from './cancel.ts'
import type { DeploymentsDeps } from './deps.ts'
import { showDeployment } from './show.ts'
import { listDeployments } from './store.ts'
import { streamDeployment } from './stream.ts'

export function deploymentsHandlers(deps: DeploymentsDeps): Handlers<typeof contract.deployments> {
  const { db } = deps.database
  const started = ({ id, projectId }: DeploymentRow) => ({
    data: { deploymentId: id, projectId, streamUrl: `/api/deployments/${id}/stream` },
  })
  return {
    build: async ({ body }, context) => {
      const { projectId, ...wishes } = body
      await checkProject(projectId, wishes.uploadSessionId, context.caller, deps)
      const row = await askForDeployment(projectId, { ...wishes, trigger: 'manual', createdBy: context.caller.userId }, deps)
      context.audit({ objectKind: 'deployment', objectId: row.id })
      return started(row)
    },
    list: async ({ query }, { caller }) => {
      const { rows, nextCursor } = await listDeployments(db, caller.organizationId, {
        ...query,
        ...(caller.projectIds ? { projectIds: [...caller.projectIds] } : {}),
      })
      return { data: rows.map(showDeployment), nextCursor }
    },
    get: (_, { deployment }) => ({ data: showDeployment(deployment) }),
    logs: async ({ query }, { deployment }) => {
      const { limit = 100, cursor } = query
      if (cursor !== undefined && !isLogId(cursor)) throw new BadCursor()
      const options = { ...(cursor ? { afterId: cursor } : {}), filter: { deployment: deployment.id } }
      const data = []
      for await (const line of deps.logStore.read(deployment.projectId, 'deployments', options)) {
        if (data.length === limit) return { data, nextCursor: data.at(-1)?.id ?? null }
        data.push(line)
      }
      return { data, nextCursor: null }
    },
    stream: async (_, { deployment, stream }) => {
      await streamDeployment(deployment, stream, deps)
      return undefined
    },
    cancel: async (_, { deployment }) => ({ data: showDeployment(await cancelDeployment(deployment, deps)) }),
    redeploy: async (_, { deployment, caller }) =>
      started(await again(deployment, { trigger: 'redeploy', keepArtifacts: false, createdBy: caller.userId }, deps)),
    rollback: async (_, { deployment, caller }) => {
      if (!deployment.artifacts || (deployment.status !== 'live' && deployment.status !== 'superseded'))
        fail('nothing_to_roll_back_to', { words: 'What this deployment built is not kept, or it was never live' })
      return started(await again(deployment, { trigger: 'rollback', keepArtifacts: true, createdBy: caller.userId }, deps))
    },
  }
}

interface Again {
  trigger: 'redeploy' | 'rollback'
  keepArtifacts: boolean
  createdBy: string
}

const again = (deployment: DeploymentRow, { keepArtifacts, ...wishes }: Again, deps: DeploymentsDeps) =>
  askForDeployment(
    deployment.projectId,
    { ...wishes, environment: deployment.environment, basedOn: { deployment, keepArtifacts } },
    deps,
  )

/** The body names the project, so that the guard could not judge it. */
async function checkProject(
  projectId: string,
  uploadSessionId: string | undefined,
  caller: Caller,
  deps: DeploymentsDeps,
): Promise<void> {
  const { db } = deps.database
  const project = await db
    .selectFrom('projects')
    .select('id')
    .where('id', '=', projectId)
    .where('organizationId', '=', caller.organizationId)
    .executeTakeFirst()
  if (!project || (caller.projectIds && !caller.projectIds.has(projectId)))
    fail('not_found', { field: 'projectId', words: 'There is no such project' })
  const level = (await deps.gatekeeper.grantedLevel(caller, projectId)) ?? levelOfRole[caller.role]
  if (!reaches(level, 'write')) fail('forbidden', { permission: 'project:write', words: 'This needs write on the project' })
  if (!uploadSessionId) return
  const session = await db
    .selectFrom('uploadSessions')
    .select('status')
    .where('id', '=', uploadSessionId)
    .where('organizationId', '=', caller.organizationId)
    .executeTakeFirst()
  if (!session) fail('not_found', { field: 'uploadSessionId', words: 'There is no such upload session' })
  if (session.status !== 'received')
    fail('conflict', { field: 'uploadSessionId', words: 'Nothing was uploaded in this session yet' })
}
