import { join } from 'node:path'
import { serving, writeApp } from '../../tests/kit/hosting.ts'
import type { Scenario } from './scenario.ts'

/** Counts the responses by status: `201 × 3, 400 × 40`. */
function tally(statuses: readonly number[]): string {
  const counts = new Map<number, number>()
  for (const status of statuses) counts.set(status, (counts.get(status) ?? 0) + 1)
  return [...counts].map(([status, count]) => `${status} × ${count}`).join(', ')
}

/** A member stores as many and as large variables as the instance takes, and reads them again and again. */
export const manyVariables: Scenario = {
  name: 'variables without end',
  async run({ hosting, watch }) {
    const { id } = await hosting.makeProject({ name: 'variables' })
    return watch(async (until) => {
      const statuses: number[] = []
      for (let step = 0; !until.aborted; step++) {
        const upserts = Array.from({ length: 15 }, (_, at) => ({ key: `V${step}_${at}`, value: 'x'.repeat(60_000) }))
        if (step < 60) statuses.push((await hosting.api('PATCH', `/projects/${id}/env`, { upserts })).status)
        await hosting.api('GET', `/projects/${id}/env`)
      }
      return `writes: ${tally(statuses)}`
    })
  },
}

/** A member makes large route rules; a page of another project is requested through the same edge. */
export const largeRules: Scenario = {
  name: 'large route rules',
  async run({ hosting, watch }) {
    await writeApp(join(hosting.folder, 'other'), serving('other'))
    const other = await hosting.makeProject({ name: 'other', localPath: join(hosting.folder, 'other') })
    const { error } = await hosting.settled(await hosting.deploy(other.id))
    if (error) throw new Error(JSON.stringify(error))
    const { id } = await hosting.makeProject({ name: 'ruled' })
    const ips = Array.from({ length: 10_000 }, (_, at) => `2001:db8:ffff:ffff:ffff:ffff:${at.toString(16)}:ffff/128`)
    return watch(async (until) => {
      const statuses: number[] = []
      let slowestMs = 0
      const visiting = (async () => {
        while (!until.aborted) {
          const begun = performance.now()
          await hosting.get(`${other.slug}.localhost`)
          slowestMs = Math.max(slowestMs, performance.now() - begun)
        }
      })()
      for (let step = 0; step < 40 && !until.aborted; step++)
        statuses.push((await hosting.api('POST', `/projects/${id}/route-rules`, { kind: 'ban', config: { ips } })).status)
      await visiting
      return `rules: ${tally(statuses)}; slowest page of another project: ${Math.round(slowestMs)} ms`
    })
  },
}
