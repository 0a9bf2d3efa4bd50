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
  return rows.map((row) => recordOf(row, facts, deps))
}

export async function showProject(row: ProjectRow, deps: ProjectsDeps): Promise<Project> {
  return recordOf(row, await gatherFacts([row], deps), deps)
}

/**
 * Responses with one project. A response is derived from the facts and the edge's state, and is cached as long as these are
 * unchanged.
 */
export function createProjectResponses(deps: ProjectsDeps): (row: ProjectRow) => Awaitable<{ data: Project }> {
  const responseOf = memoizeByRows(
    (
      row: ProjectRow,
      domains: Facts['domains'],
      deployments: Facts['deployments'],
      running: Facts['running'],
      operations: Facts['operations'],
      _edge: object,
    ) => ({
      data: recordOf(row, { domains, deployments, running, operations }, deps),
    }),
  )
  return (row) =>
    thenSync(gatherFacts([row], deps), ({ domains, deployments, running, operations }) =>
      responseOf(row, domains, deployments, running, operations, deps.projectPorts.edge?.revision() ?? empty),
    )
}

/**
 * Responses with a page of projects. A page from the read cache means that no commit followed it
 * (docs/decisions/kept-reads.md), so neither the page nor the facts about its projects have changed: while the edge's state is
 * unchanged, the response and its JSON text are reused.
 */
export function createListResponses(deps: ProjectsDeps): (page: Page<ProjectRow>) => Awaitable<ProjectList> {
  const cache = new WeakMap<Page<ProjectRow>, { edge: object; list: ProjectList }>()
  return (page) => {
    const edge = deps.projectPorts.edge?.revision() ?? empty
    const cached = cache.get(page)
    if (cached?.edge === edge) return cached.list
    const { rows, nextCursor } = page
    return thenSync(gatherFacts(rows, deps), (facts) => {
      const list = { data: rows.map((row) => recordOf(row, facts, deps)), nextCursor }
      if (Object.isFrozen(page)) cache.set(page, { edge, list: Object.freeze(list) })
      return list
    })
  }
}

export interface ProjectList {
  data: Project[]
  nextCursor: string | null
}

export async function showRoutes(row: ProjectRow, deps: ProjectsDeps): Promise<ProjectRoute[]> {
  return routesFor(row, await gatherFacts([row], deps), deps)
}

/** The live deployment's runtime, build, plan and source, and the settings of the next deployment. */
export async function showInfo(row: ProjectRow, deps: ProjectsDeps): Promise<ProjectInfo> {
  const facts = await gatherFacts([row], deps)
  const { type, config, source, url = null, pendingChanges: pending = [], status, statusReason } = recordOf(row, facts, deps)
  const live = facts.deployments.get(row.id)?.live
  const running = facts.running.get(row.id)
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

interface Facts {
  domains: ReadonlyMap<string, DomainRow[]>
  deployments: ReadonlyMap<string, DeploymentSummary>
  running: ReadonlyMap<string, RunningState>
  operations: ReadonlyMap<string, readonly ProjectOperationRow[]>
}

const empty: ReadonlyMap<string, never> = Object.freeze(new Map<string, never>())

function gatherFacts(rows: readonly ProjectRow[], { database, projectPorts }: ProjectsDeps): Awaitable<Facts> {
  const ids = rows.map(({ id }) => id)
  const facts = allSync(
    domainsOf(database.db, ids),
    projectPorts.deployments?.summaries(ids) ?? empty,
    projectPorts.running?.states(ids) ?? empty,
    operationsOf(database.db, ids),
  )
  return thenSync(facts, ([domains, deployments, running, operations]) => ({ domains, deployments, running, operations }))
}

function recordOf(row: ProjectRow, facts: Facts, deps: ProjectsDeps): Project {
  const deployments = facts.deployments.get(row.id)
  const { id, organizationId, name, slug, type } = row
  const routes = routesFor(row, facts, deps)
  const services = facts.running.get(id)?.services ?? []
  return {
    ...{ id, organizationId, name, slug, type },
    location: deps.settings.mode === 'cloud' ? 'cloud' : 'local',
    config: configOf(row),
    source: showSource(row, deployments?.live?.commit ?? null, hostUrlsOf(deps.settings)),
    routes,
    url: workingUrl(routes, facts.domains.get(id) ?? []),
    pendingChanges: pendingChanges(row, deployments?.live?.settings),
    ...statusOf({
      enabled: row.enabled === 1,
      isBeingDeleted: row.deletingSince !== null,
      operation: facts.operations.get(id)?.find(({ kind }) => kind === 'restore' || kind === 'move'),
      deployments,
      running: facts.running.get(id),
    }),
    ...(services.length > 1 ? { services: [...services] } : {}),
    enabled: row.enabled === 1,
    createdAt: iso(row.createdAt),
    updatedAt: iso(row.updatedAt),
  }
}

const routesFor = (row: ProjectRow, facts: Facts, deps: ProjectsDeps): ProjectRoute[] =>
  routesOf(row, {
    domains: facts.domains.get(row.id) ?? [],
    services: facts.running.get(row.id)?.serviceRoutes ?? [],
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
