import { DurationTally } from '../platform/metrics/duration-tally.ts'
import { type MetricSource, metricSource } from '../platform/metrics/metric-source.ts'

const bounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]

/** Metrics of the API, the dashboard's files included. Paths and clients are not labels: a client could create any number of them. */
export class ApiMetrics {
  readonly source: MetricSource
  readonly #byStatus = new Map<number, number>()
  readonly #durations = new DurationTally(bounds)

  constructor() {
    this.source = metricSource(
      {
        berth_api_requests_total: { type: 'counter', help: 'Responses of the API and the dashboard, by status code.' },
        berth_api_request_duration_seconds: { type: 'histogram', help: 'Duration of API requests, without event streams.' },
      },
      () => ({
        berth_api_requests_total: [...this.#byStatus].map(([code, value]) => ({ labels: { code: String(code) }, value })),
        berth_api_request_duration_seconds: this.#durations.samples(),
      }),
    )
  }

  record(status: number, seconds: number, isStream: boolean): void {
    this.#byStatus.set(status, (this.#byStatus.get(status) ?? 0) + 1)
    if (!isStream) this.#durations.observe(seconds)
  }
}
