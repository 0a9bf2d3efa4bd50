import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { serving, startHosting, writeApp } from '../tests/kit/hosting.ts'
import { table } from './kit/table.ts'

/** node bench/rules.ts: measures the time from the 201 of a route rule until the edge applies it. Fails above a second. */
await using hosting = await startHosting()
await writeApp(join(hosting.folder, 'ruled'), serving('ruled'))
const project = await hosting.makeProject({ name: 'ruled', localPath: join(hosting.folder, 'ruled') })
await hosting.settled(await hosting.deploy(project.id))
const tookMs: number[] = []
for (let round = 0; round < 20; round++) {
  const rule = { enabled: true, kind: 'ban', pathPrefix: `/quick${round}`, config: { ips: ['127.0.0.1'] } }
  await hosting.api('POST', `/projects/${project.id}/route-rules`, rule)
  const begun = performance.now()
  while ((await hosting.get(`${project.slug}.localhost`, `/quick${round}`)).status !== 403) await pause(5)
  tookMs.push(performance.now() - begun)
}
const sorted = tookMs.toSorted((a, b) => a - b)
console.log(table(['rules', 'median ms', 'longest ms'], [[sorted.length, sorted[10] as number, sorted.at(-1) as number]]))
if ((sorted.at(-1) as number) > 1_000) process.exitCode = 1
