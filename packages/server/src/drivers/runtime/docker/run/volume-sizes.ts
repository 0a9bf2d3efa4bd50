import { setTimeout as pause } from 'node:timers/promises'
import { ask, type Engine, wordsOfEngine } from '../engine.ts'

/** The engine measures for one caller at a time. */
const measureTries = 20
const measurePauseMs = 500
const measureMs = 5 * 60_000

const measuring = new WeakMap<Engine, Promise<ReadonlyMap<string, number>>>()

/** Bytes of every volume of the engine, by its name. Callers at the same time share one measurement. */
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

/** Tries again while the engine measures for another caller. */
export async function measureAlone<T>(measure: () => Promise<T>, abort?: AbortSignal): Promise<T> {
  for (let tries = 1; ; tries += 1)
    try {
      return await ask(measure, { ...(abort ? { abort } : {}), timeoutMs: measureMs })
    } catch (error) {
      if (tries >= measureTries || !/already running/i.test(wordsOfEngine(error))) throw error
      await pause(measurePauseMs, undefined, abort ? { signal: abort } : {})
    }
}

interface VolumeUse {
  Volumes?: { Name: string; UsageData?: { Size: number } | null }[] | null
}

/** Without images and containers, which take longer; engines before API 1.42 measure them all the same. The client's `df` takes no query. */
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
