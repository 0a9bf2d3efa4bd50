import { projectJson } from '../../../platform/db/json-columns/projects.ts'
import type { ProjectRow } from '../../../platform/db/tables/projects.ts'
import { isLogId, type LogKind, type RequestEntry, type RuntimeEntry } from '../../../platform/log-store/log-entry.ts'
import type { LogFilter } from '../../../platform/log-store/log-filter.ts'
import { exposedService } from '../../../source/exposed-service.ts'
import type { ProjectsDeps } from '../deps.ts'
import type { ProjectPart } from '../project-part.ts'
import { requireEnvironment } from '../require-environment.ts'

export interface LogQuery {
  tail?: number
  since?: string
  deployment?: string
  environment?: string
  service?: string
  q?: string
}

export const defaultTail = 200

/** Filter of runtime logs. A project with several services shows the exposed service's lines unless the query names another. */
export async function runtimeFilter(
  project: LogOwner,
  query: LogQuery,
  { database, projectPorts: ports }: Pick<ProjectsDeps, 'database' | 'projectPorts'>,
): Promise<LogFilter> {
  const slugOf = async (name: string) => (await requireEnvironment(database.db, project.id, name)).slug
  const service = query.service || (await defaultService(project, query.deployment, ports))
  return {
    ...(service ? { service } : {}),
    ...(query.deployment ? { deployment: query.deployment } : {}),
    ...(query.environment ? { environment: await slugOf(query.environment) } : {}),
    ...(query.q ? { q: query.q } : {}),
  }
}

type LogOwner = Pick<ProjectRow, 'id' | 'services'>

/** The exposed service. A project whose Compose file names its services stores none; the deployment knows them. */
async function defaultService(
  project: LogOwner,
  deploymentId: string | undefined,
  { deployments }: ProjectsDeps['projectPorts'],
): Promise<string | undefined> {
  const stored = projectJson.services(project)
  return stored.length > 0 ? exposedService(stored)?.name : await deployments?.exposedService(project.id, deploymentId)
}

type RequestQuery = Pick<LogFilter, 'environment' | 'status' | 'method' | 'path' | 'q'>

export async function requestFilter(
  project: LogOwner,
  { environment, ...query }: RequestQuery,
  { database }: Pick<ProjectsDeps, 'database'>,
): Promise<LogFilter> {
  const requestFields = Object.entries(query).filter(([name, value]) => ['status', 'method', 'path', 'q'].includes(name) && value)
  const slug = environment && (await requireEnvironment(database.db, project.id, environment)).slug
  return { ...Object.fromEntries(requestFields), ...(slug ? { environment: slug } : {}) }
}

export const showLine = ({ id, time, stream, environment = null, service, message }: RuntimeEntry) => ({
  ...{ id, time, stream, environment, service, message },
})

export const showRequest = (entry: RequestEntry) => ({
  ...entry,
  environment: entry.environment ?? null,
  service: entry.service ?? null,
})

/** Position at which a reconnecting client continues; an unknown id starts from the beginning. */
export const resumeAfter = (lastEventId: string | null): { afterId?: string } =>
  lastEventId !== null && isLogId(lastEventId) ? { afterId: lastEventId } : {}

/** Logs of a project; removed after every part that writes to them. */
export function logsPart({ logStore }: Pick<ProjectsDeps, 'logStore'>): ProjectPart {
  const kinds: LogKind[] = ['runtime', 'requests', 'deployments']
  const hasLogs = async (projectId: string, kind: LogKind) => (await logStore.tail(projectId, kind, { limit: 1 })).length > 0
  return {
    describe: 'logs',
    async previewDeletion({ id }) {
      const isAny = (await Promise.all(kinds.map((kind) => hasLogs(id, kind)))).some(Boolean)
      return isAny ? [{ kind: 'logs', id, name: 'logs', sizeBytes: null, kept: false }] : []
    },
    remove: ({ id }) => logStore.remove(id),
  }
}
