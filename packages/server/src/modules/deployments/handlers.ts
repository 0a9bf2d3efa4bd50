import type { contract } from '@berth/contract'
import type { Handlers } from '../../http/handler.ts'
import { BadCursor, listResponse } from '../../platform/db/pages.ts'
import type { DeploymentRow } from '../../platform/db/tables/deployments.ts'
import { writeAuditRecord } from '../../platform/db/write-record.ts'
import { fail } from '../../platform/failure.ts'
import { isLogId } from '../../platform/log-store/log-entry.ts'
import { environmentInOrganization, requireEnvironment } from '../projects/index.ts'
import { cleanUpStorage, showStorage } from './data/storage.ts'
import { removeVolume, showVolumes } from './data/volumes.ts'
import type { DeploymentsDeps } from './deps.ts'
import { execHandlers } from './exec/handlers.ts'
import { cancelDeployment } from './request/cancel.ts'
import { createHook, deleteHook, deployByHook, listHooks, showHook } from './request/deploy-hooks.ts'
import { requestDeployment } from './request/request-deployment.ts'
import { listDeployments } from './store.ts'
import { changesOf } from './summary/changes.ts'
import { deploymentList, showDeployment } from './summary/show.ts'
import { streamDeployment } from './summary/stream.ts'

export function deploymentsHandlers(deps: DeploymentsDeps): Handlers<typeof contract.deployments> {
  const { db } = deps.database
  const startedResponse = ({ id, projectId }: DeploymentRow) => ({
    data: { deploymentId: id, projectId, streamUrl: `/api/deployments/${id}/stream` },
  })
  const environmentFilter = async (environment: string, projectId: string | undefined, organizationId: string) =>
    projectId
      ? { environment: (await requireEnvironment(db, projectId, environment)).slug }
      : environmentInOrganization(db, organizationId, environment)
  return {
    ...execHandlers(deps),
    listHooks: async ({ query }, { project }) => listResponse(await listHooks(db, project.id, query), showHook),
    createHook: async ({ body }, context) => {
      context.audit({ objectKind: 'deployHook', made: 'hok' })
      return { data: await createHook(context.project, body, deps) }
    },
    removeHook: async (_, { deployHook }) => {
      await deleteHook(db, deployHook.id)
      return undefined
    },
    receiveHook: async ({ params }, { audit }) => ({ data: { deploymentId: await deployByHook(params.token, audit, deps) } }),
    listVolumes: ({ query }, { project }) => showVolumes(project, query, deps),
    removeVolume: async (_, { volume }) => {
      await removeVolume(volume, deps)
      return undefined
    },
    build: async ({ body }, context) => {
      const { projectId, environment: name, ...rest } = body
      const environment = name === undefined ? 'production' : (await requireEnvironment(db, projectId, name)).slug
      const options = { ...rest, environment }
      if (options.uploadSessionId) await deps.projects.fetchUpload(options.uploadSessionId, context.project.organizationId)
      context.audit({ objectKind: 'deployment', made: 'dep' })
      const row = await requestDeployment(projectId, { ...options, trigger: 'manual', createdBy: context.caller.userId }, deps)
      // A repeated request writes no row from which the audit entry could take the id.
      context.audit({ objectId: row.id })
      return startedResponse(row)
    },
    list: async ({ query }, { caller }) => {
      const { environment, ...rest } = query
      const page = await listDeployments(db, caller.organizationId, {
        ...rest,
        ...(environment === undefined ? {} : await environmentFilter(environment, query.projectId, caller.organizationId)),
        ...(caller.projectIds ? { projectIds: [...caller.projectIds] } : {}),
      })
      return deploymentList(page)
    },
    get: (_, { deployment }) => ({ data: showDeployment(deployment) }),
    changes: async (_, { deployment }) => ({ data: await changesOf(deployment, deps) }),
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
    storage: async () => ({ data: await showStorage(deps) }),
    cleanUpStorage: async (_, context) => {
      context.audit({ objectKind: 'instance', objectId: 'storage' })
      await writeAuditRecord()
      return { data: await cleanUpStorage(deps) }
    },
    cancel: async (_, { deployment }) => ({ data: showDeployment(await cancelDeployment(deployment, deps)) }),
    redeploy: async (_, { deployment, caller }) => {
      if (deployment.importedAt !== null)
        fail('conflict', { message: 'This deployment was made on another instance. Deploy the project instead.' })
      return startedResponse(
        await repeatDeployment(deployment, { trigger: 'redeploy', keepArtifacts: false, createdBy: caller.userId }, deps),
      )
    },
    restart: async ({ body }, { project, caller }) => {
      const { environment } = body ?? {}
      const options = { trigger: 'redeploy' as const, createdBy: caller.userId, restart: true as const }
      const row = await requestDeployment(project.id, { ...options, ...(environment ? { environment } : {}) }, deps)
      return startedResponse(row)
    },
    rollback: async (_, { deployment, caller }) => {
      if (!deployment.artifacts || (deployment.status !== 'live' && deployment.status !== 'superseded'))
        fail('nothing_to_roll_back_to', {
          message: 'The artifact of this deployment was deleted, or the deployment was never live. Choose another deployment.',
        })
      return startedResponse(
        await repeatDeployment(deployment, { trigger: 'rollback', keepArtifacts: true, createdBy: caller.userId }, deps),
      )
    },
  }
}

interface RepeatOptions {
  trigger: 'redeploy' | 'rollback'
  keepArtifacts: boolean
  createdBy: string
}

const repeatDeployment = (deployment: DeploymentRow, { keepArtifacts, ...options }: RepeatOptions, deps: DeploymentsDeps) =>
  requestDeployment(
    deployment.projectId,
    { ...options, environment: deployment.environment, basedOn: { deployment, keepArtifacts } },
    deps,
  )
