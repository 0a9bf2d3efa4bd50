import { setTimeout as pause } from 'node:timers/promises'
import { callEngine, type Engine, engineMessage } from '../engine.ts'

/** Retries, because the engine runs only one measurement at a time. */
const maxMeasureTries = 20
const measureRetryMs = 500
const measureTimeoutMs = 5 * 60_000

const runningMeasurements = new WeakMap<Engine, Promise<ReadonlyMap<string, number>>>()

/** Sizes of all volumes of the engine, by name. Parallel callers share one measurement. */
export function volumeSizes(engine: Engine): Promise<ReadonlyMap<string, number>> {
  const running = runningMeasurements.get(engine)
  if (running) return running
  const sizes = measureVolumes(engine).finally(() => runningMeasurements.delete(engine))
  runningMeasurements.set(engine, sizes)
  return sizes
}

async function measureVolumes(engine: Engine): Promise<ReadonlyMap<string, number>> {
  const { Volumes } = await retryWhileMeasuring(() => requestVolumeUsage(engine))
  return new Map((Volumes ?? []).flatMap(({ Name, UsageData }) => (UsageData ? [[Name, UsageData.Size] as const] : [])))
}

/** Retries while the engine runs another measurement. */
export async function retryWhileMeasuring<T>(measure: () => Promise<T>, abort?: AbortSignal): Promise<T> {
  for (let tries = 1; ; tries += 1)
    try {
      return await callEngine(measure, { ...(abort ? { abort } : {}), timeoutMs: measureTimeoutMs })
    } catch (error) {
      if (tries >= maxMeasureTries || !/already running/i.test(engineMessage(error))) throw error
      await pause(measureRetryMs, undefined, abort ? { signal: abort } : {})
    }
}

interface VolumeUsage {
  Volumes?: { Name: string; UsageData?: { Size: number } | null }[] | null
}

/**
 * Requests the sizes of volumes only, because images and containers take longer. Engines before API 1.42 measure them anyway.
 * The client's own `df` supports no query.
 */
const requestVolumeUsage = (engine: Engine) =>
  new Promise<VolumeUsage>((resolve, reject) => {
    const request = {
      path: '/system/df?',
      method: 'GET',
      options: { type: 'volume' },
      statusCodes: { 200: true, 500: 'server error' },
    }
    engine.modem.dial(request, (error: unknown, data: unknown) => (error ? reject(error) : resolve(data as VolumeUsage)))
  })
