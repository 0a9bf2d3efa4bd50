import { contract, type MetricPoint } from '@berth/contract'
import { useRead } from './read.ts'

export type { MetricPoint }

export const spans = { hour: 3600, day: 86_400, week: 604_800, month: 2_592_000 } as const
export type Span = keyof typeof spans

const targetPoints = 120
const refreshMs = 15_000

/** Metrics of the last hour, day, week or month, in about 120 points. */
export function useMetrics(projectId: string, span: Span) {
  const seconds = spans[span]
  const stepSeconds = Math.max(60, Math.round(seconds / targetPoints / 60) * 60)
  // Rounded, so that the query key stays the same between refreshes.
  const to = Math.ceil(Date.now() / refreshMs) * refreshMs
  const query = { from: new Date(to - seconds * 1000).toISOString(), to: new Date(to).toISOString(), stepSeconds }
  return useRead(
    contract.projects.metrics,
    { params: { id: projectId }, query },
    { keepsPreviousData: true, refetchIntervalMs: refreshMs },
  )
}
