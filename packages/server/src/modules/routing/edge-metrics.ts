import { averageMs, boundMs } from '../../platform/latency-histogram.ts'
import { histogramSamples } from '../../platform/metrics/duration-tally.ts'
import { type MetricSource, metricSource, type Sample } from '../../platform/metrics/metric-source.ts'
import { type Metered, sumByLabels } from '../projects/index.ts'
import type { EdgeState } from './edge-state.ts'
import type { Totals, TrafficTotals } from './traffic-totals.ts'

export interface EdgeMetricsParts {
  traffic: TrafficTotals
  metered(): Promise<Metered>
  state(): EdgeState
  /** The number of certificates in use that should have been renewed a day ago. */
  overdueCertificates(): Promise<number>
  now(): number
}

/** Checking certificates reads every domain. */
const certificatesKeptMs = 60_000

export function edgeMetrics({ traffic, metered, state, overdueCertificates, now }: EdgeMetricsParts): MetricSource {
  let overdue = { count: 0, at: Number.NEGATIVE_INFINITY }
  return metricSource(
    {
      berth_edge_in_sync: { type: 'gauge', help: 'Whether the edge has the current routes: 1, or 0 after a failed update.' },
      berth_edge_hostnames: { type: 'gauge', help: 'Host names that the edge serves.' },
      berth_edge_request_duration_seconds: {
        type: 'histogram',
        help: 'Response time of requests to projects. The sum is computed from the buckets.',
      },
      berth_certificates_overdue: {
        type: 'gauge',
        help: 'Certificates in use that expire within 14 days and should have been renewed a day ago.',
      },
      berth_project_requests_total: { type: 'counter', help: 'Responses of the edge for a project.' },
      berth_project_request_errors_total: {
        type: 'counter',
        help: 'Responses of the edge for a project with an error, by code class.',
      },
      berth_project_response_bytes_total: { type: 'counter', help: 'Bytes of response bodies that the edge sent for a project.' },
    },
    async () => {
      const environments = await metered()
      traffic.keepOnly(environments.environments, now())
      const total = (key: keyof Totals): Sample[] =>
        sumByLabels(environments, (projectId, environment) => traffic.of(projectId, environment)?.[key])
      if (performance.now() - overdue.at > certificatesKeptMs)
        overdue = { count: await overdueCertificates(), at: performance.now() }
      return {
        berth_edge_in_sync: [{ value: state().problem === null ? 1 : 0 }],
        berth_edge_hostnames: [{ value: state().hostnames.size }],
        berth_edge_request_duration_seconds: durations(traffic.latency),
        berth_certificates_overdue: [{ value: overdue.count }],
        berth_project_requests_total: total('requests'),
        berth_project_request_errors_total: [...withCode('4xx', total('errors4xx')), ...withCode('5xx', total('errors5xx'))],
        berth_project_response_bytes_total: total('bytesOut'),
      }
    },
  )
}

const withCode = (code: string, samples: readonly Sample[]): Sample[] =>
  samples.map(({ labels, value }) => ({ labels: { ...labels, code }, value }))

/** Every eighth bucket: a factor of four between two, from 1 ms to 65 s. */
const boundaries = [8, 16, 24, 32, 40, 48, 56, 64, 72]

function durations(latency: Float64Array): Sample[] {
  const counts = [...boundaries, latency.length - 1].map((last, at) =>
    latency.subarray(at === 0 ? 0 : boundaries[at - 1]! + 1, last + 1).reduce((sum, count) => sum + count, 0),
  )
  const sumMs = latency.reduce((sum, count, bucket) => sum + count * averageMs(bucket), 0)
  return histogramSamples(
    boundaries.map((bucket) => boundMs(bucket) / 1000),
    counts,
    sumMs / 1000,
  )
}
