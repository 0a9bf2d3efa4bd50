import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startHosting } from '../tests/kit/hosting.ts'
import { partOf } from '../tests/kit/machine.ts'
import { table } from './kit/table.ts'

/**
 * node bench/wake-services.ts [services=8]: compares the time that a disabled Compose project with many independent services takes to
 * serve again with that of a project with a single service, in the same run. Each service listens one second after its start. Exits
 * with 1 above a ratio of three: services that are started one after the other would exceed it.
 */
const count = Number(process.argv[2] ?? 8)
const rounds = 3
const limit = 3

await using hosting = await startHosting({ runtime: 'docker', env: { BERTH_IMAGE_MIRROR: partOf('nodeImage').split('/')[0] } })
const server = "setTimeout(() => require('http').createServer((_, out) => out.end('up')).listen(3000), 1000)"

async function makeStack(name: string, services: number): Promise<{ id: string; slug: string }> {
  const folder = join(hosting.folder, name)
  await mkdir(folder)
  const names = Array.from({ length: services }, (_, at) => (at === 0 ? 'web' : `side${at}`))
  const texts = names.map((service) => {
    const more = service === 'web' ? "    ports: ['3000']\n" : "    healthcheck: { test: ['CMD', 'true'], interval: 1s }\n"
    return `  ${service}:\n    image: node:24\n    command: ["node", "-e", ${JSON.stringify(server)}]\n${more}`
  })
  await writeFile(join(folder, 'compose.yaml'), `services:\n${texts.join('')}`)
  const project = await hosting.makeProject({ name, localPath: folder, type: 'services' })
  const { status, error } = await hosting.settled(await hosting.deploy(project.id))
  if (status !== 'live') throw new Error(`${name} is ${status}: ${error?.message}`)
  return project
}

async function wakeMs({ id, slug }: { id: string; slug: string }): Promise<number> {
  const disabled = await hosting.api('POST', `/projects/${id}/disable`)
  if (disabled.status !== 200) throw new Error(`disable was answered with ${disabled.status}`)
  const began = performance.now()
  const enabled = await hosting.api('POST', `/projects/${id}/enable`)
  if (enabled.status !== 200) throw new Error(`enable was answered with ${enabled.status}`)
  while ((await hosting.get(`${slug}.localhost`)).text !== 'up')
    if (performance.now() - began > 120_000) throw new Error('the project does not serve after 120 s')
  return performance.now() - began
}

const one = await makeStack('single', 1)
const all = await makeStack('stack', count)
const measured: { one: number; all: number }[] = []
for (let round = 0; round < rounds; round += 1) measured.push({ one: await wakeMs(one), all: await wakeMs(all) })
const rows = measured.map(
  ({ one, all }, at) => [`round ${at + 1}`, `${one.toFixed(0)} ms`, `${all.toFixed(0)} ms`, (all / one).toFixed(2)] as const,
)
console.log(table(['', '1 service', `${count} services`, 'ratio'], rows))
const ratios = measured.map(({ one, all }) => all / one).sort((left, right) => left - right)
const median = ratios[Math.floor(ratios.length / 2)] as number
console.log(`\nmedian ratio ${median.toFixed(2)}, limit ${limit}`)
process.exitCode = median <= limit ? 0 : 1
