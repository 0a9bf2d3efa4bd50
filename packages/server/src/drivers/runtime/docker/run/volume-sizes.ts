import { setTimeout as pause } from 'node:timers/promises'
import { callEngine, type Engine, engineMessage } from '../engine.ts'

/** Retries, because the engine runs only one measurement at a time. */
const measureTries = 20
const measurePauseMs = 500
const measureMs = 5 * 60_000

const measuring = new WeakMap<Engine, Promise<ReadonlyMap<string, number>>>()

/** Sizes of all volumes of the engine, by name. Parallel callers share one measurement. */
export function volumeSizes(engine: Engine): Promise<ReadonlyMap<string, number>> {
  const underWay = measuring.get(engine)
  if (underWay) return underWay
  const sizes = measureVolumes(engine).finally(() => measuring.delete(engine))
  measuring.set(engine, sizes)
  return sizes
}

async function measureVolumes(engine: Engine): Promise<ReadonlyMap<string, number>> {
  const { Volumes } = await measureAlone(() => volumeUse(engine))
  return new Map((Volumes ?? []).flatMap(({ Name, UsageData }) => (UsageData ? [[Name, UsageData.Size] as const] : [])))
}

/** Retries while the engine runs another measurement. */
export async function measureAlone<T>(measure: () => Promise<T>, abort?: AbortSignal): Promise<T> {
  for (let tries = 1; ; tries += 1)
    try {
      return await callEngine(measure, { ...(abort ? { abort } : {}), timeoutMs: measureMs })
    } catch (error) {
      if (tries >= measureTries || !/already running/i.test(engineMessage(error))) throw error
      await pause(measurePauseMs, undefined, abort ? { signal: abort } : {})
    }
}

interface VolumeUse {
  Volumes?: { Name: string; UsageData?: { Size: number } | null }[] | null
}

/**
 * Requests the sizes of volumes only, because images and containers take longer. Engines before API 1.42 measure them anyway.
 * The client's own `df` supports no query.
 */
const volumeUse = (engine: Engine) =>
  new Promise<VolumeUse>((resolve, reject) => {
    const request = {
      path: '/system/df?',
      method: 'GET',
      options: { type: 'volume' },
      statusCodes: { 200: true, 500: 'server error' },
    }
    engine.modem.dial(request, (error: unknown, data: unknown) => (error ? reject(error) : resolve(data as VolumeUse)))
  })
