import { collectDefaultMetrics, Registry } from 'prom-client'
import type { Exposition, MetricInfo, Samples } from '../../platform/metrics/metric-source.ts'

/** Gauges that prom-client names like counters, which `promtool check metrics` reports. */
const misnamed = ['nodejs_active_resources_total', 'nodejs_active_handles_total', 'nodejs_active_requests_total']
/** Interval of the timer that measures the lag of the event loop: the default of 10 ms would keep an idle process awake. */
const lagPrecisionMs = 100

/**
 * Renders the given metrics. Includes the metrics of this process, unless another process reports its own under the same names.
 * Loaded at the first scrape, because it starts to measure the process.
 */
export function createRenderer(declared: readonly Readonly<Record<string, MetricInfo>>[], { ofProcess = true } = {}) {
  const registry = new Registry()
  if (ofProcess) collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: lagPrecisionMs })
  for (const name of misnamed) registry.removeSingleMetric(name)
  let samples: Samples = {}
  for (const [name, info] of declared.flatMap((metrics) => Object.entries(metrics)))
    registry.registerMetric(readFrom(name, info, () => samples[name] ?? []) as never)
  return {
    async render(current: Samples): Promise<Exposition> {
      samples = current
      return { contentType: registry.contentType, text: await registry.metrics() }
    },
  }
}

/** A metric whose values are read when it is rendered: those of deleted projects leave nothing behind. */
function readFrom(name: string, info: MetricInfo, read: () => NonNullable<Samples[string]>) {
  const get = async () => ({
    name,
    ...info,
    aggregator: 'sum',
    values: read().map(({ value, labels = {}, suffix }) => ({ value, labels, ...(suffix ? { metricName: name + suffix } : {}) })),
  })
  return { name, ...info, get, reset: () => undefined }
}
