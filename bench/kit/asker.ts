import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'

export interface Asking {
  urls: readonly string[]
  headers: Record<string, string>
  /** Between an answer and the next request, as people and dashboards have it. */
  everyMs: number
}

/**
 * Asks one address after the other from a thread of its own, so that what is measured shares its event loop with nobody; ends with
 * `work`, and gives how long each answer took.
 */
export async function askDuring(asking: Asking, work: () => Promise<unknown>): Promise<number[]> {
  const asker = new Worker(new URL(import.meta.url), { workerData: asking })
  await once(asker, 'message')
  await work()
  asker.postMessage('end')
  const [took] = (await once(asker, 'message')) as [number[]]
  await asker.terminate()
  return took
}

if (!isMainThread && parentPort) {
  const { urls, headers, everyMs } = workerData as Asking
  const took: number[] = []
  let isOver = false
  parentPort.once('message', () => {
    isOver = true
  })
  for (let at = 0; !isOver; at++) {
    const began = performance.now()
    const response = await fetch(urls[at % urls.length] as string, { headers })
    await response.arrayBuffer()
    if (!response.ok) throw new Error(`${response.status} of ${response.url}`)
    // The first hundred warm up what asks and what answers.
    if (at >= 100) took.push(performance.now() - began)
    else if (at === 99) parentPort.postMessage('warm')
    await pause(everyMs)
  }
  parentPort.postMessage(took)
}
