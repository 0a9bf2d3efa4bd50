import type { TlsState } from '@berth/contract'
import type { EdgeListening } from '../../edge-proxy/protocol/edge-listening.ts'
import type { RequestRecord } from '../../edge-proxy/protocol/request-record.ts'
import type { DomainRow } from '../../platform/db/tables/projects.ts'
import { Every } from '../../platform/jobs/every.ts'
import {
  addRuleHits,
  type EdgeRoutes,
  notSynced,
  type ProjectSignal,
  projectsTopic,
  type RouteStatus,
} from '../projects/index.ts'
import { certifyJob } from './certificates.ts'
import { type EdgeDeps, nowOf } from './deps.ts'
import { edgeMetrics } from './edge-metrics.ts'
import { expiringCertificates } from './expiring.ts'
import { askForOwn, askOnFirstUse, renewJob, renewKind, replaceUnusable, requestNew, retry } from './renewal.ts'
import { watchJob, watchKind } from './served-certificates.ts'
import { type EdgeState, EdgeSync } from './sync.ts'
import { TrafficKeeper } from './traffic-keeper.ts'

export type { EdgeDeps } from './deps.ts'

/**
 * Routing. The *edge* is a separate process; this module computes its *table* from the database, sends it on every change, gets
 * *certificates* for custom domains, and stores the edge's request records and rule hit counts.
 */
export function createEdge(deps: EdgeDeps) {
  const { driver, settings, log } = deps
  const edge = new EdgeSync(
    deps,
    (certificates) =>
      void replaceUnusable(certificates, deps).catch((error: unknown) =>
        log.warn({ err: error }, 'routing: replacing certificates failed'),
      ),
  )
  const unsubscribers: (() => void)[] = []
  const traffic = new TrafficKeeper(deps)
  const counting = new Every(2, () => countHits(deps), log)
  let listening: EdgeListening | null = null
  const ports = () => ({
    http: listening?.http.port ?? settings.edgePort,
    https: listening?.https?.port ?? settings.edgeTlsPort,
  })
  const syncSoon = () => void edge.sync().catch((error: unknown) => log.warn({ err: error }, 'routing: edge not updated'))
  const scheduleRequest = () =>
    void requestNew(deps).catch((error: unknown) => log.warn({ err: error }, 'routing: certificate request failed'))

  return {
    jobs: [certifyJob(deps, edge), renewJob(deps, edge), watchJob(deps, edge, () => listening?.https ?? null)],
    metrics: [
      edgeMetrics({
        traffic: traffic.totals,
        metered: deps.metered,
        state: () => edge.state,
        overdueCertificates: async () => (await expiringCertificates(new Date(nowOf(deps) + overdueMs), deps)).length,
        now: () => nowOf(deps),
      }),
    ],
    /** Route operations for the projects module. */
    routes: {
      routeStatus: (hostname, domain) => statusIn(edge.state, hostname, domain, settings),
      aliasOf: (hostname) => {
        const alias = edge.state.aliases.get(hostname)
        return alias !== undefined && edge.state.covered(alias) ? alias : null
      },
      revision: () => edge.state,
      sync: async (projectId) => {
        await retry(projectId, edge.state, deps)
        await edge.sync().catch(() => undefined)
      },
      ports,
    } satisfies EdgeRoutes as EdgeRoutes,
    /** Edge operations for deployments. */
    switch: {
      async sync() {
        const { refused } = await edge.sync()
        return { refused }
      },
      drain: (instanceId: string, timeoutMs: number, abort: AbortSignal) => driver.drain(instanceId, timeoutMs, abort),
      counters: (projectId: string) => driver.switchCounters(projectId),
      activity: () => driver.activity(),
      ports,
    },
    /** Certificates in use that expire by then. */
    expiring: (until: Date) => expiringCertificates(until, deps),
    onWake: (listener: (projectId: string) => void) => unsubscribers.push(driver.onWake((projectId) => listener(projectId))),
    async start(): Promise<EdgeListening> {
      listening = await driver.start()
      await edge.sync()
      traffic.start()
      unsubscribers.push(driver.onRequests((batch) => keepRequests(batch, deps)))
      unsubscribers.push(
        deps.database.signals.subscribe<ProjectSignal>(projectsTopic, () => {
          syncSoon()
          scheduleRequest()
        }),
      )
      unsubscribers.push(
        driver.onCertificateWanted(
          (hostname) =>
            void askOnFirstUse(hostname, deps, edge.state).catch((error: unknown) =>
              log.warn({ err: error, hostname }, 'certificates: request at first use failed'),
            ),
        ),
      )
      await requestNew(deps)
      await askForOwn(deps)
      await deps.database.transaction(async ({ schedule }) => {
        await schedule({ key: renewKind.kind, job: renewKind, payload: {}, recurrence: { everySeconds: 3600 } })
        await schedule({ key: watchKind.kind, job: watchKind, payload: {}, recurrence: { everySeconds: 3600 } })
      })
      counting.start()
      return listening
    },
    /** See `EdgeDriver`. */
    isAdopted: () => driver.isAdopted,
    async stop({ keepServing }: { keepServing: boolean }): Promise<void> {
      for (const end of unsubscribers.splice(0)) end()
      edge.stop()
      await counting.stop()
      await driver.stop({ keepServing })
      await traffic.stop()
    },
  }
}

const overdueMs = 14 * 86_400_000

function statusIn(
  { problem, hostnames, waiting, refused, uncertified, ...state }: EdgeState,
  hostname: string,
  domain: DomainRow | undefined,
  settings: EdgeDeps['settings'],
): RouteStatus | undefined {
  const { tls, reason } = settings.edgeTlsPort === null ? withoutTls : tlsIn(state, hostname, domain)
  const missing = domain && waiting.get(domain.id)
  if (missing) return { tls: 'none', state: 'pending', reason: missing }
  const problemText = problem ?? refused.get(hostname)
  if (problemText) return { tls, state: 'error', reason: problemText }
  const unusable = tls === 'none' ? undefined : uncertified.get(hostname)
  if (unusable) return { tls: 'error', state: hostnames.has(hostname) ? 'synced' : 'pending', reason: unusable }
  if (hostnames.has(hostname)) return { tls, state: 'synced', ...(reason ? { reason } : {}) }
  return domain && { tls, state: 'pending', reason: reason ?? notSynced.reason }
}

const withoutTls = { tls: 'none', reason: null } as const

/** The certificate of a host name: of its domain row, else of the name that Berth assigned. */
function tlsIn(
  { assigned, servedWrong, covered }: Pick<EdgeState, 'assigned' | 'servedWrong' | 'covered'>,
  hostname: string,
  domain: DomainRow | undefined,
): { tls: TlsState; reason: string | null } {
  const isCovered = covered(hostname)
  const problemText = isCovered && servedWrong.get(isCovered === 'own' ? hostname : wildcardOf(hostname))
  if (problemText) return { tls: 'error', reason: problemText }
  if (domain) return { tls: domain.tls, reason: domain.reason === notSynced.reason ? null : domain.reason }
  const row = assigned.get(hostname)
  if (isCovered) return { tls: 'active', reason: row?.tls === 'active' ? row.reason : null }
  return row && row.tls !== 'active' ? { tls: row.tls, reason: row.reason } : withoutTls
}

const wildcardOf = (hostname: string) => `*${hostname.slice(hostname.indexOf('.'))}`

function keepRequests(batch: readonly RequestRecord[], { logStore, log }: EdgeDeps): void {
  for (const [projectId, records] of Map.groupBy(batch, (record) => record.projectId)) {
    if (!projectId) continue
    logStore
      .append(projectId, 'requests', records)
      .catch((error: unknown) => log.warn({ err: error }, 'routing: request records not saved'))
  }
}

async function countHits({ driver, database }: EdgeDeps): Promise<void> {
  for (const [id, hits] of Object.entries(await driver.ruleHits())) await addRuleHits(database.db, id, hits)
}
