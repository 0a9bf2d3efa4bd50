import type { contract } from '@berth/contract'
import type { Handlers } from '../../../http/handler.ts'
import type { EnvironmentRow } from '../../../platform/db/tables/projects.ts'
import { refuse } from '../../../platform/failure.ts'
import { nowOf, type ProjectsDeps } from '../deps.ts'
import { findEnvironment } from '../store.ts'
import { metricsWithin } from './metric-rows.ts'
import { pointsOf, spanOf } from './points.ts'

type Rows = Partial<Handlers<typeof contract.projects>>

export function metricHandlers(deps: ProjectsDeps) {
  const { db } = deps.database
  const environmentOf = async (projectId: string, name: string): Promise<EnvironmentRow> => {
    const known = name.includes('\0') ? undefined : await findEnvironment(db, projectId, name)
    return known ?? refuse('environment', `there is no environment ${JSON.stringify(name)}`)
  }
  return {
    metrics: async ({ query }, { project }) => {
      const { environment: name = 'production', ...wanted } = query
      const span = spanOf(wanted, nowOf(deps))
      const { id } = await environmentOf(project.id, name)
      const points = await pointsOf(metricsWithin(db, id, span.from, span.to), span)
      return { data: { stepSeconds: span.stepSeconds, points } }
    },
  } satisfies Rows
}
