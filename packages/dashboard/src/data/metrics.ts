import { contract, type MetricPoint } from '@berth/contract'
import { useRead } from './read.ts'

export type { MetricPoint }

export const spans = { hour: 3600, day: 86_400, week: 604_800, month: 2_592_000 } as const
export type Span = keyof typeof spans

const pointsWanted = 120
const refreshMs = 15_000

/** The last hour, day, week or month, in about a hundred points. */
export function useMetrics(projectId: string, span: Span) {
  const seconds = spans[span]
  const stepSeconds = Math.max(60, Math.round(seconds / pointsWanted / 60) * 60)
  // Steps of the clock, so that one key holds for a while.
  const to = Math.ceil(Date.now() / refreshMs) * refreshMs
  const query = { from: new Date(to - seconds * 1000).toISOString(), to: new Date(to).toISOString(), stepSeconds }
  return useRead(contract.projects.metrics, { params: { id: projectId }, query }, { keepsLast: true, everyMs: refreshMs })
}
