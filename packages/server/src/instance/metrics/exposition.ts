import type { Log } from '../../platform/log.ts'
import type { Exposition, MetricSource, Samples } from '../../platform/metrics/metric-source.ts'

/** How long a rendered text is served again: frequent or parallel scrapes read the database no more often. */
const keptMs = 10_000

/** Renders all metrics. The metrics of the process itself are counted from the first scrape on: an instance without scrapes pays nothing. */
export function createExposition(
  sources: readonly MetricSource[],
  log: Log,
  options: { ofProcess?: boolean } = {},
): () => Promise<Exposition> {
  const renderer = loadOnce(async () =>
    (await import('./renderer.ts')).createRenderer(
      sources.map(({ metrics }) => metrics),
      options,
    ),
  )
  const render = async (): Promise<Exposition> => {
    const collected = await Promise.all(sources.map((source) => collect(source, log)))
    return (await renderer()).render(Object.assign({}, ...collected) as Samples)
  }
  let latest: { at: number; result: Promise<Exposition> } | undefined
  return () => {
    const now = performance.now()
    if (latest && now - latest.at < keptMs) return latest.result
    const current = { at: now, result: render() }
    latest = current
    current.result.catch(() => {
      if (latest === current) latest = undefined
    })
    return current.result
  }
}

/** The metrics of a source that fails are absent; the others are still served. */
async function collect(source: MetricSource, log: Log): Promise<Samples> {
  try {
    return await source.collect()
  } catch (error) {
    log.warn({ err: error, metrics: Object.keys(source.metrics) }, 'metrics: source failed, its metrics are missing')
    return {}
  }
}

function loadOnce<Value>(load: () => Promise<Value>): () => Promise<Value> {
  let loaded: Promise<Value> | undefined
  return () => (loaded ??= load())
}
