import type { EdgeListening } from '../../edge-proxy/protocol/edge-listening.ts'
import type { RequestRecord } from '../../edge-proxy/protocol/request-record.ts'
import { Every } from '../../platform/jobs/every.ts'
import { addRuleHits, type EdgeRoutes, type ProjectSignal, projectsTopic } from '../projects/index.ts'
import { certifyJob } from './certificates.ts'
import { type EdgeDeps, nowOf } from './deps.ts'
import { EdgeCopy } from './edge-copy.ts'
import { edgeMetrics } from './edge-metrics.ts'
import { expiringCertificates } from './expiring.ts'
import { ownCertificateProblems } from './own-certificate-problems.ts'
import { orderOnFirstUse, orderOwn, renewJob, renewKind, replaceUnusable, requestNew, retry } from './renewal.ts'
import { edgeRoutes } from './route-status.ts'
import { watchJob, watchKind } from './served-certificates.ts'
import { EdgeSync } from './sync.ts'
import { TrafficKeeper } from './traffic-keeper.ts'

export type { EdgeDeps } from './deps.ts'

/** Reads the edge's routes in a process that does not run the edge; `refresh` must be awaited before a read. */
export function createEdgeCopy({
  database,
  settings,
}: Pick<EdgeDeps, 'database'> & { settings: Pick<EdgeDeps['settings'], 'edgePort' | 'edgeTlsPort'> }) {
  const copy = new EdgeCopy(database, { http: settings.edgePort, https: settings.edgeTlsPort })
  const routes: EdgeRoutes = {
    ...edgeRoutes({ state: () => copy.state, ports: () => copy.ports, servesTls: settings.edgeTlsPort !== null }),
    sync: () => Promise.reject(new Error('routing: the edge belongs to the worker')),
  }
  return { routes, refresh: () => copy.refresh() }
}

/**
 * Routing. The *edge* is a separate process; this module computes its *table* from the database, sends it on every change, gets
 * *certificates* for custom domains, and stores the edge's request records and rule hit counts.
 */
export function createEdge(deps: EdgeDeps) {
  const { driver, settings, log } = deps
  let listening: EdgeListening | null = null
  const ports = () => ({
    http: listening?.http.port ?? settings.edgePort,
    https: listening?.https?.port ?? settings.edgeTlsPort,
  })
  const edge = new EdgeSync(
    deps,
    ports,
    (certificates) =>
      void replaceUnusable(certificates, deps).catch((error: unknown) =>
        log.warn({ err: error }, 'routing: replacing certificates failed'),
      ),
  )
  const unsubscribers: (() => void)[] = []
  let stopSavingRequests = () => {}
  const traffic = new TrafficKeeper(deps)
  const counting = new Every(2, () => countHits(deps), log)
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
      ...edgeRoutes({ state: () => edge.state, ports, servesTls: settings.edgeTlsPort !== null }),
      sync: async (projectId) => {
        await retry(projectId, edge.state, deps)
        await edge.sync().catch(() => undefined)
      },
    } satisfies EdgeRoutes as EdgeRoutes,
    /** Edge operations for deployments. */
    switch: {
      async sync() {
        const { refused } = await edge.sync()
        return { refused }
      },
      drain: (instanceId: string, timeoutMs: number, abort: AbortSignal) => driver.drain(instanceId, timeoutMs, abort),
      counters: (projectId: string) => driver.requestTotals(projectId),
      activity: () => driver.activity(),
      ports,
    },
    /** Certificates in use that expire by then. */
    expiring: (until: Date) => expiringCertificates(until, deps),
    ownCertificateProblems: () => ownCertificateProblems(deps),
    onWake: (listener: (projectId: string) => void) => unsubscribers.push(driver.onWake((projectId) => listener(projectId))),
    async start(): Promise<EdgeListening> {
      // An edge that is still running from before sends its counts once, as soon as it is connected: listen first.
      traffic.start()
      stopSavingRequests = driver.onRequests((batch) => saveRequests(batch, deps))
      listening = await driver.start()
      await edge.sync()
      unsubscribers.push(
        deps.database.signals.subscribe<ProjectSignal>(projectsTopic, (event) => {
          if ('sameRoutes' in event) return
          syncSoon()
          scheduleRequest()
        }),
      )
      unsubscribers.push(
        driver.onCertificateWanted(
          (hostname) =>
            void orderOnFirstUse(hostname, deps, edge.state).catch((error: unknown) =>
              log.warn({ err: error, hostname }, 'certificates: request at first use failed'),
            ),
        ),
      )
      await requestNew(deps)
      await orderOwn(deps)
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
      stopSavingRequests()
      await traffic.stop()
    },
  }
}

const overdueMs = 14 * 86_400_000

function saveRequests(batch: readonly RequestRecord[], { logStore, log }: EdgeDeps): void {
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
