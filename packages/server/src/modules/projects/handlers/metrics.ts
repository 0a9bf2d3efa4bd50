import type { contract } from '@berth/contract'
import type { Handlers } from '../../../http/handler.ts'
import { nowOf, type ProjectsDeps } from '../deps.ts'
import { metricsWithin } from '../metrics/metric-rows.ts'
import { pointsOf, spanOf } from '../metrics/points.ts'
import { requireEnvironment } from '../require-environment.ts'

type Rows = Partial<Handlers<typeof contract.projects>>

export function metricHandlers(deps: ProjectsDeps) {
  const { db } = deps.database
  return {
    metrics: async ({ query }, { project }) => {
      const { environment: name = 'production', ...range } = query
      const span = spanOf(range, nowOf(deps))
      const { id } = await requireEnvironment(db, project.id, name)
      const points = await pointsOf(metricsWithin(db, id, span.from, span.to), span)
      return { data: { stepSeconds: span.stepSeconds, points } }
    },
  } satisfies Rows
}
