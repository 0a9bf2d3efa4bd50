import { environmentStates } from '@berth/contract'
import { liveEnvironmentJson } from '../../platform/db/json-columns/deployments.ts'
import type { Db } from '../../platform/db/schema.ts'
import { type MetricSource, metricSource } from '../../platform/metrics/metric-source.ts'
import { type Metered, sumByLabels } from '../projects/index.ts'
import { listLive } from './live-environments.ts'
import type { UsageTotals } from './logs/usage-totals.ts'

export interface DeploymentMetricsParts {
  db: Db
  usage: UsageTotals
  metered(): Promise<Metered>
}

export const deploymentMetrics = ({ db, usage, metered }: DeploymentMetricsParts): MetricSource =>
  metricSource(
    {
      berth_environments: { type: 'gauge', help: 'Deployed environments, by state.' },
      berth_environments_unhealthy: { type: 'gauge', help: 'Live environments that fail their health check.' },
      berth_project_live: { type: 'gauge', help: 'Live environments of a project.' },
      berth_project_unhealthy: { type: 'gauge', help: 'Live environments of a project that fail their health check.' },
      berth_project_restarts_total: { type: 'counter', help: 'How often services of a project exited by themselves.' },
      berth_project_cpu_seconds_total: { type: 'counter', help: 'CPU time of a project since this process started.' },
      berth_project_memory_bytes: { type: 'gauge', help: 'Memory of a project at the last measurement.' },
    },
    async () => {
      const environments = await metered()
      usage.keepOnly(environments.environments)
      const rows = await listLive(db)
      const live = new Map(rows.map((row) => [`${row.projectId}/${row.environment}`, row]))
      const rowOf = (projectId: string, environment: string) => live.get(`${projectId}/${environment}`)
      const isUnhealthy = ({ state, health }: (typeof rows)[number]) => state === 'live' && health === 'unhealthy'
      const perProject = (read: (row: (typeof rows)[number]) => number) =>
        sumByLabels(environments, (projectId, environment) => {
          const row = rowOf(projectId, environment)
          return row && read(row)
        })
      return {
        berth_environments: environmentStates.map((state) => ({
          labels: { state },
          value: rows.filter((row) => row.state === state).length,
        })),
        berth_environments_unhealthy: [{ value: rows.filter(isUnhealthy).length }],
        berth_project_live: perProject((row) => (row.state === 'live' ? 1 : 0)),
        berth_project_unhealthy: perProject((row) => (isUnhealthy(row) ? 1 : 0)),
        berth_project_restarts_total: perProject((row) =>
          (liveEnvironmentJson.services(row) ?? []).reduce((sum, { restarts }) => sum + restarts, 0),
        ),
        berth_project_cpu_seconds_total: sumByLabels(environments, (id, environment) => usage.cpuSeconds(id, environment)),
        berth_project_memory_bytes: sumByLabels(environments, (id, environment) => usage.memoryBytes(id, environment)),
      }
    },
  )
