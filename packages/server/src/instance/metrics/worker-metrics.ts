import type { WorkerProxy } from '../../http/worker-proxy.ts'
import type { Exposition } from '../../platform/metrics/metric-source.ts'

/** Adds the worker's metrics to those of the API process beside it. Without the worker they are absent. */
export const withMetricsOf =
  (worker: Pick<WorkerProxy, 'metrics'>, render: () => Promise<Exposition>) =>
  async (bearer: string): Promise<Exposition> => {
    const [own, ofWorker] = await Promise.all([render(), worker.metrics(bearer).catch(() => '')])
    return { ...own, text: own.text + ofWorker }
  }
