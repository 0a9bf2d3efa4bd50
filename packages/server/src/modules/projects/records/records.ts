import type { Project, ProjectConfig, ProjectInfo, ProjectRoute, ServiceStatus } from '@berth/contract'
import { type Awaitable, allSync, thenSync } from '../../../platform/awaitable.ts'
import { iso } from '../../../platform/db/columns.ts'
import { projectJson } from '../../../platform/db/json-columns/projects.ts'
import { memoizeByRows } from '../../../platform/db/memoize-rows.ts'
import type { Page } from '../../../platform/db/pages.ts'
import type { DomainRow, ProjectOperationRow, ProjectRow } from '../../../platform/db/tables/projects.ts'
import type { ProjectsDeps } from '../deps.ts'
import { hostUrlsOf } from '../git-remote.ts'
import { routesOf, urlSettings, workingUrl } from '../hostnames/hostnames.ts'
import { operationsOf } from '../operations/operation-store.ts'
import type { DeploymentSummary, RunningState } from '../project-ports.ts'
import { deployedSource, showSource } from '../source.ts'
import { domainsOf } from '../store.ts'
import { pendingChanges } from './pending-changes.ts'
import { maskedServices } from './service-environment.ts'
import { statusOf } from './status.ts'

/** Rows as the contract shows them. A page takes one query per neighbouring module, whatever its length. */
export async function showProjects(rows: readonly ProjectRow[], deps: ProjectsDeps): Promise<Project[]> {
  const facts = await gatherFacts(rows, deps)
  return rows.map((row) => recordOf(row, factsOf(row, facts), deps))
}

export async function showProject(row: ProjectRow, deps: ProjectsDeps): Promise<Project> {
  return recordOf(row, factsOf(row, await gatherFacts([row], deps)), deps)
}

/**
 * Records that are made again only when the rows of their project or the edge's state change. Rows of the read cache that are
 * unchanged stay the same objects (docs/decisions/kept-reads.md).
 */
function createRecords(deps: ProjectsDeps): (row: ProjectRow, facts: Facts) => Project {
  const recordFor = memoizeByRows(
    (
      row: ProjectRow,
      domains: ProjectFacts['domains'],
      deployments: DeploymentSummary | typeof none,
      running: RunningState | typeof none,
      operations: ProjectFacts['operations'],
      _edge: object,
    ): Project =>
      recordOf(
        row,
        {
          domains,
          deployments: isNone(deployments) ? undefined : deployments,
          running: isNone(running) ? undefined : running,
          operations,
        },
        deps,
      ),
  )
  return (row, facts) => {
    const { domains, deployments = none, running = none, operations } = factsOf(row, facts)
    return recordFor(row, domains, deployments, running, operations, facts.edge)
  }
}

export interface ProjectResponses {
  one(row: ProjectRow): Awaitable<{ data: Project }>
  list(page: Page<ProjectRow>): Awaitable<ProjectList>
}

/** Responses with one project and with a page of projects. */
export function createProjectResponses(deps: ProjectsDeps): ProjectResponses {
  const recordFor = createRecords(deps)
  const responseOf = memoizeByRows((data: Project) => ({ data }))
  const listOf = memoizeByRows(
    (
      { rows, nextCursor }: Page<ProjectRow>,
      domains: Facts['domains'],
      deployments: Facts['deployments'],
      running: Facts['running'],
      operations: Facts['operations'],
      edge: object,
    ): ProjectList => ({
      data: rows.map((row) => recordFor(row, { domains, deployments, running, operations, edge })),
      nextCursor,
    }),
  )
  return {
    one: (row) => thenSync(gatherFacts([row], deps), (facts) => responseOf(recordFor(row, facts))),
    list: (page) =>
      thenSync(gatherFacts(page.rows, deps), ({ domains, deployments, running, operations, edge }) =>
        listOf(page, domains, deployments, running, operations, edge),
      ),
  }
}

export interface ProjectList {
  data: Project[]
  nextCursor: string | null
}

export async function showRoutes(row: ProjectRow, deps: ProjectsDeps): Promise<ProjectRoute[]> {
  return routesFor(row, factsOf(row, await gatherFacts([row], deps)), deps)
}

/** The live deployment's runtime, build, plan and source, and the settings of the next deployment. */
export async function showInfo(row: ProjectRow, deps: ProjectsDeps): Promise<ProjectInfo> {
  const facts = factsOf(row, await gatherFacts([row], deps))
  const { type, config, source, url = null, pendingChanges: pending = [], status, statusReason } = recordOf(row, facts, deps)
  const live = facts.deployments?.live
  const { running } = facts
  const services = running?.services ?? []
  const version = await deps.projectPorts.deployments?.liveVersion(row.id)
  const plan = version?.plan ?? null
  return {
    id: row.id,
    runtime: {
      driver: (await deps.projectPorts.running?.driverFor(row.serverId)) ?? null,
      status,
      statusReason,
      deploymentId: live?.id ?? null,
      url,
      port: plan?.port ?? null,
      startedAt: running?.startedAt ?? null,
      instances: running?.instances ?? 0,
      restarts: services.reduce((total, { restarts }) => total + restarts, 0),
      lastExit: newestExit(services),
    },
    build: {
      framework: plan?.framework ?? null,
      packageManager: plan?.packageManager ?? null,
      installCommand: plan?.installCommand ?? null,
      buildCommand: plan?.buildCommand ?? null,
      startCommand: plan?.startCommand ?? null,
      outputDirectory: plan?.outputDirectory ?? null,
      image: version?.image ?? null,
      sizeBytes: live?.sizeBytes ?? null,
      builtAt: live?.builtAt ?? null,
    },
    plan,
    source: version ? deployedSource(version, hostUrlsOf(deps.settings)) : source,
    settings: { type, config, source },
    pendingChanges: pending,
  }
}

const newestExit = (services: readonly ServiceStatus[]): ServiceStatus['lastExit'] =>
  services.reduce<ServiceStatus['lastExit']>(
    (newest, { lastExit }) => (lastExit && (!newest || lastExit.at > newest.at) ? lastExit : newest),
    null,
  )

/** Facts about a page of projects from neighbouring modules. */
interface Facts {
  domains: ReadonlyMap<string, readonly DomainRow[]>
  deployments: ReadonlyMap<string, DeploymentSummary>
  running: ReadonlyMap<string, RunningState>
  operations: ReadonlyMap<string, readonly ProjectOperationRow[]>
  /** Another object as soon as the edge's state changes. */
  edge: object
}

interface ProjectFacts {
  domains: readonly DomainRow[]
  deployments: DeploymentSummary | undefined
  running: RunningState | undefined
  operations: readonly ProjectOperationRow[]
}

const empty: ReadonlyMap<string, never> = Object.freeze(new Map<string, never>())
const noRows: readonly never[] = Object.freeze([])
/** Stands for absent facts in the key of a record. */
const none = Object.freeze({ isNone: true as const })
const isNone = (facts: object): facts is typeof none => facts === none

const factsOf = ({ id }: ProjectRow, { domains, deployments, running, operations }: Facts): ProjectFacts => ({
  domains: domains.get(id) ?? noRows,
  deployments: deployments.get(id),
  running: running.get(id),
  operations: operations.get(id) ?? noRows,
})

const idsOf = memoizeByRows((rows: readonly ProjectRow[]): readonly string[] => rows.map(({ id }) => id))

function gatherFacts(rows: readonly ProjectRow[], { database, projectPorts }: ProjectsDeps): Awaitable<Facts> {
  const ids = idsOf(rows)
  const edge = projectPorts.edge?.revision() ?? empty
  const facts = allSync(
    domainsOf(database.db, ids),
    projectPorts.deployments?.summaries(ids) ?? empty,
    projectPorts.running?.states(ids) ?? empty,
    operationsOf(database.db, ids),
  )
  return thenSync(facts, ([domains, deployments, running, operations]) => ({ domains, deployments, running, operations, edge }))
}

function recordOf(row: ProjectRow, facts: ProjectFacts, deps: ProjectsDeps): Project {
  const { domains, deployments, running, operations } = facts
  const { id, organizationId, name, slug, type } = row
  const routes = routesFor(row, facts, deps)
  const services = running?.services ?? []
  return {
    ...{ id, organizationId, name, slug, type },
    location: deps.settings.mode === 'cloud' ? 'cloud' : 'local',
    config: configOf(row),
    source: showSource(row, deployments?.live?.commit ?? null, hostUrlsOf(deps.settings)),
    routes,
    url: workingUrl(routes, domains),
    pendingChanges: pendingChanges(row, deployments?.live?.settings),
    ...statusOf({
      enabled: row.enabled === 1,
      isBeingDeleted: row.deletingSince !== null,
      operation: operations.find(({ kind }) => kind === 'restore' || kind === 'move'),
      deployments,
      running,
    }),
    ...(services.length > 1 ? { services: [...services] } : {}),
    enabled: row.enabled === 1,
    createdAt: iso(row.createdAt),
    updatedAt: iso(row.updatedAt),
  }
}

const routesFor = (row: ProjectRow, { domains, running }: ProjectFacts, deps: ProjectsDeps): ProjectRoute[] =>
  routesOf(row, {
    domains,
    services: running?.serviceRoutes ?? [],
    edge: deps.projectPorts.edge,
    baseDomain: deps.settings.baseDomain,
    urls: urlSettings(deps),
  })

function configOf(row: ProjectRow): ProjectConfig {
  const { framework, packageManager, installCommand, buildCommand, startCommand, outputDirectory, rootDirectory } = row
  const {
    dockerfilePath,
    composePath,
    buildImage,
    buildTarget,
    port,
    sleepMode,
    rollbackWindow,
    webhookDomain,
    serverId,
    image,
  } = row
  const { previewsMaximum, previewsMaxAgeDays } = row
  return {
    ...{ framework, packageManager, installCommand, buildCommand, startCommand, outputDirectory, rootDirectory },
    ...{ dockerfilePath, composePath, buildImage, buildTarget, port, sleepMode, rollbackWindow, webhookDomain, serverId, image },
    composeProfiles: projectJson.composeProfiles(row),
    buildArgs: projectJson.buildArgs(row),
    healthCheck: projectJson.healthCheck(row),
    volumes: projectJson.volumes(row),
    services: maskedServices(projectJson.services(row)),
    serviceRoutes: projectJson.serviceRoutes(row),
    resources: projectJson.resources(row),
    autoDeploy: row.autoDeploy === 1,
    previews: row.previews === 1,
    ...{ previewsMaximum, previewsMaxAgeDays },
    previewsUseProductionVariables: row.previewsUseProduction === 1,
  }
}
