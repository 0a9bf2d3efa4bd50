import type { contract } from '@berth/contract'
import type { Handlers } from '../../../http/handler.ts'
import { nowOf, type ProjectsDeps } from '../deps.ts'
import { metricsWithin } from '../metrics/metric-rows.ts'
import { pointsOf, spanOf } from '../metrics/points.ts'
import { namedEnvironment } from '../named-environment.ts'

type Rows = Partial<Handlers<typeof contract.projects>>

export function metricHandlers(deps: ProjectsDeps) {
  const { db } = deps.database
  return {
    metrics: async ({ query }, { project }) => {
      const { environment: name = 'production', ...wanted } = query
      const span = spanOf(wanted, nowOf(deps))
      const { id } = await namedEnvironment(db, project.id, name)
      const points = await pointsOf(metricsWithin(db, id, span.from, span.to), span)
      return { data: { stepSeconds: span.stepSeconds, points } }
    },
  } satisfies Rows
}
