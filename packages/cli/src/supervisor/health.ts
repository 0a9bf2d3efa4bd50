import { request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'

const retryMs = 100
const timeoutMs = 5_000

/** Resolves when the API at the address reports that it is ready and has the given version; rejects at the deadline. */
export async function untilHealthy(address: { host: string; port: number }, version: string, maxMs: number): Promise<void> {
  for (const giveUpAt = performance.now() + maxMs; ; await pause(retryMs)) {
    const answer = await readHealth(address)
    if (answer === version) return
    if (performance.now() > giveUpAt) throw new Error(`${version} was not healthy after ${maxMs / 1000} s: ${answer}`)
  }
}

/** The version of a ready instance, else the problem. */
function readHealth({ host, port }: { host: string; port: number }): Promise<string> {
  return new Promise((resolve) => {
    const sent = request({ host, port, path: '/api/health', timeout: timeoutMs, agent: false }, async (response) => {
      try {
        const { data } = JSON.parse(Buffer.concat(await response.toArray()).toString()) as { data?: { version?: string } }
        resolve(data?.version ?? `/api/health answered ${response.statusCode}`)
      } catch {
        resolve(`/api/health answered ${response.statusCode} without JSON`)
      }
    })
    sent.on('timeout', () => sent.destroy(new Error('/api/health did not answer in time')))
    sent.on('error', (error) => resolve(error.message))
    sent.end()
  })
}

/** The address at which this machine reaches the API. */
export const healthAddress = (env: Readonly<Record<string, string | undefined>>) => {
  const host = env.BERTH_HOST?.trim() || '127.0.0.1'
  const any: Record<string, string> = { '0.0.0.0': '127.0.0.1', '::': '::1' }
  return { host: any[host] ?? host, port: Number(env.BERTH_PORT?.trim() || 4000) }
}
