import { limits, type MetricPoint } from '@berth/contract'
import { metricJson } from '../../../platform/db/json-columns/projects.ts'
import { refuse } from '../../../platform/failure.ts'
import { addLatency, latencyAt, latencyBuckets } from '../../../platform/latency-histogram.ts'
import { coarseSeconds, type MetricRow, minuteSeconds } from './metric-rows.ts'
import { keptMs, minutesKeptMs } from './thin-metrics.ts'

export interface Span {
  /** Milliseconds since 1970; the first step begins at `from`, the last one ends at `to`. */
  from: number
  to: number
  stepSeconds: number
}

const hourMs = 3600_000
const defaultMaxPoints = 360
const defaultSteps = [60, 300, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400]

/** The requested span, in whole steps, limited to the retention period and to the present. */
export function spanOf(query: { from?: string; to?: string; stepSeconds?: number }, now: number): Span {
  const to = Math.min(now, query.to === undefined ? now : timeOf('to', query.to))
  const requested = query.from === undefined ? to - hourMs : timeOf('from', query.from)
  if (requested >= to) refuse('from', query.to === undefined ? 'must be in the past' : 'must be before "to", and in the past')
  const from = Math.max(requested, now - keptMs)
  if (from >= to) return { from: to, to, stepSeconds: query.stepSeconds ?? minuteSeconds }
  const finestStep = from < now - minutesKeptMs ? coarseSeconds : minuteSeconds
  const requestedStep = query.stepSeconds ?? defaultSteps.find((step) => (to - from) / 1000 / step <= defaultMaxPoints) ?? 86_400
  const stepSeconds = Math.ceil(requestedStep / finestStep) * finestStep
  const stepMs = stepSeconds * 1000
  const span = { from: Math.floor(from / stepMs) * stepMs, to: Math.ceil(to / stepMs) * stepMs, stepSeconds }
  if ((span.to - span.from) / stepMs > limits.metricPoints) {
    const minStep = Math.ceil((to - from) / 1000 / (limits.metricPoints - 2) / finestStep) * finestStep
    refuse('stepSeconds', `gives more than ${limits.metricPoints} points. Use ${minStep} or more, or a shorter period`)
  }
  return span
}

/** A leap second is valid in the schema but not for `Date.parse`. */
function timeOf(field: 'from' | 'to', value: string): number {
  const time = Date.parse(value)
  return Number.isNaN(time) ? refuse(field, 'is not a valid time') : time
}

/** Returns one point per step, in order, also for steps without data. */
export async function pointsOf(rows: AsyncIterable<MetricRow>, { from, to, stepSeconds }: Span): Promise<MetricPoint[]> {
  const stepMs = stepSeconds * 1000
  const steps = Array.from({ length: Math.round((to - from) / stepMs) }, () => undefined as Step | undefined)
  for await (const row of rows) {
    const at = Math.floor((row.at - from) / stepMs)
    if (at < 0 || at >= steps.length) continue
    steps[at] ??= {
      requests: 0,
      errors4xx: 0,
      errors5xx: 0,
      bytesOut: 0,
      cpuMs: 0,
      observedMs: 0,
      memoryKb: 0,
      restarts: 0,
      latency: null,
    }
    add(steps[at], row)
  }
  return steps.map((step, at) => ({ at: new Date(from + at * stepMs).toISOString(), ...showStep(step) }))
}

const summed = ['requests', 'errors4xx', 'errors5xx', 'bytesOut', 'cpuMs', 'observedMs', 'restarts'] as const
type Sums = Pick<MetricRow, (typeof summed)[number] | 'memoryKb'>
type Step = Sums & { latency: Float64Array | null }

function add(step: Step, row: MetricRow): void {
  for (const name of summed) step[name] += row[name]
  step.memoryKb = Math.max(step.memoryKb, row.memoryKb)
  const latency = metricJson.latency(row)
  if (!latency) return
  step.latency ??= new Float64Array(latencyBuckets)
  addLatency(step.latency, latency)
}

function showStep(step: Step | undefined): Omit<MetricPoint, 'at'> {
  return {
    cpuCores: step?.observedMs ? rounded(step.cpuMs / step.observedMs, 4) : null,
    memoryMb: step?.memoryKb ? rounded(step.memoryKb / 1024, 1) : null,
    requests: step?.requests ?? 0,
    errors4xx: step?.errors4xx ?? 0,
    errors5xx: step?.errors5xx ?? 0,
    p50Ms: step?.latency ? latencyAt(step.latency, 0.5) : null,
    p99Ms: step?.latency ? latencyAt(step.latency, 0.99) : null,
    bytesOut: step?.bytesOut ?? 0,
    restarts: step?.restarts ?? 0,
  }
}

const rounded = (value: number, digits: number) => Number(value.toFixed(digits))
