import type { DeletionItem, Deployment } from '@berth/contract'
import type {
  DeploymentFacts,
  DeploymentReader,
  DeploymentSummary,
  EdgeRoutes,
  ProjectPart,
  ProjectPower,
  RouteStatus,
  RunningProjects,
  RunningState,
} from '../../src/modules/projects/index.ts'

/** Working implementations of the ports of the projects module, in memory. */

export class MemoryRuntime implements RunningProjects, ProjectPower {
  driverFor = () => 'memory'
  readonly running = new Map<string, RunningState>()
  /** If set, the next call fails with this error. */
  failure: Error | undefined
  /** Called while a project is being stopped. */
  whileStopping: (projectId: string) => Promise<void> = async () => {}

  async states(projectIds: readonly string[]) {
    return new Map([...this.running].filter(([id]) => projectIds.includes(id)))
  }

  async takeOffline(projectId: string) {
    await this.whileStopping(projectId)
    this.#failIfRequested()
    this.running.set(projectId, { state: 'stopped', reason: null, startedAt: null, instances: 0 })
  }

  async bringOnline(projectId: string) {
    this.#failIfRequested()
    this.running.set(projectId, { state: 'running', reason: null, startedAt: new Date(0).toISOString(), instances: 1 })
  }

  async wake(projectId: string) {
    const state = this.running.get(projectId)
    if (state?.state === 'sleeping') this.running.set(projectId, { ...state, state: 'running' })
  }

  #failIfRequested() {
    const { failure } = this
    this.failure = undefined
    if (failure) throw failure
  }
}

export class MemoryDeployments implements DeploymentReader {
  readonly known = new Map<string, DeploymentSummary>()
  readonly listed: Deployment[] = []

  async summaries(projectIds: readonly string[]) {
    return new Map([...this.known].filter(([id]) => projectIds.includes(id)))
  }

  async list(projectId: string) {
    return { data: this.listed.filter((deployment) => deployment.projectId === projectId), nextCursor: null }
  }

  async newest(projectId: string) {
    return this.known.get(projectId)?.newest ?? null
  }

  async exposedService() {
    return undefined
  }

  async liveVersion() {
    return undefined
  }

  async listUsedUploads() {
    return new Set<string>()
  }
}

export const deploymentFacts = (facts: Partial<DeploymentFacts> = {}): DeploymentFacts => ({
  id: 'dep_one',
  number: 1,
  status: 'live',
  error: null,
  commit: null,
  sizeBytes: null,
  builtAt: null,
  settings: { configHash: null, resourcesHash: null, sourceHash: null, envVersion: null },
  ...facts,
})

export class MemoryEdge implements EdgeRoutes {
  readonly routes = new Map<string, RouteStatus>()
  readonly synced: string[] = []

  routeStatus(hostname: string) {
    return this.routes.get(hostname)
  }

  aliasOf() {
    return null
  }

  revision() {
    return {}
  }

  async sync(projectId: string) {
    this.synced.push(projectId)
  }

  ports() {
    return { http: 80, https: 443 }
  }
}

/** A project part whose items exist until they are removed. */
export class MemoryPart implements ProjectPart {
  readonly describe = 'things'
  readonly items = new Map<string, DeletionItem[]>()
  failures = 0

  async previewDeletion({ id }: { id: string }, { deleteVolumes }: { deleteVolumes: boolean }) {
    return (this.items.get(id) ?? []).map((item) => (item.kind === 'volume' ? { ...item, kept: !deleteVolumes } : item))
  }

  async remove({ id }: { id: string }, options: { deleteVolumes: boolean }) {
    if (this.failures-- > 0) throw new Error('the disk is unavailable')
    const kept = (await this.previewDeletion({ id }, options)).filter((item) => item.kept)
    this.items.set(id, kept)
  }
}
