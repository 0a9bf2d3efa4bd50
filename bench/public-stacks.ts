// Starts public Compose files unchanged, scans and adopts them, and lists the settings that each lost or changed.
// node bench/public-stacks.ts <folder> [--deploy] [--only=name,name]: each subfolder holds a Compose file and the files that it names.
// Needs Debian's package docker-compose. Databases run their real images, all other services a stand-in.
import { readdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { DiscoveredService, Stack } from '@berth/contract'
import { openEngine } from '../packages/server/src/drivers/runtime/docker/engine.ts'
import { type Hosting, startHosting } from '../tests/kit/hosting.ts'
import { partOf } from '../tests/kit/machine.ts'
import { addServerBox } from '../tests/kit/server-box.ts'
import { type ForeignCompose, foreignCompose } from './kit/compose-tool.ts'
import { StandIns } from './kit/stand-in.ts'

const [folder = '', ...words] = process.argv.slice(2)
const isDeploying = words.includes('--deploy')
const only = words
  .find((word) => word.startsWith('--only='))
  ?.slice(7)
  .split(',')
const engine = openEngine(partOf('docker'))
await using hosting = await startHosting({ env: { BERTH_SERVER_WAIT_SECONDS: '60' } })
await using box = await addServerBox(hosting)
await using images = new StandIns()
const problems: string[] = []
let tried = 0
for (const name of (await readdir(folder)).sort()) {
  const stack = foreignCompose(name.toLowerCase(), resolve(join(folder, name)))
  if (!stack || (only && !only.includes(name))) continue
  tried++
  try {
    for (const image of (await stack.images()).values()) await images.provide(image)
    await stack.up()
    await notify(stack, hosting)
  } catch (error) {
    problems.push(`${name}: ${(error as Error).message.slice(0, 600)}`)
  } finally {
    await stack.down().catch((error: Error) => problems.push(`${name}: ${error.message}`))
  }
}
console.log(`\n${tried} stacks; ${problems.length === 0 ? 'all scanned and adopted' : `problems:\n${problems.join('\n')}`}`)
process.exitCode = problems.length === 0 && tried > 0 ? 0 : 1

async function notify(stack: ForeignCompose, { api, settled, deploy }: Hosting): Promise<void> {
  const before = await seen(stack.name)
  const scan = await api('POST', '/migration/scan', { serverId: box.serverId })
  if (scan.status !== 200) throw new Error(JSON.stringify(scan.body))
  const found = (scan.body.stack as Stack).composeProjects.find((one) => one.name === stack.name)
  if (!found) throw new Error('the scan does not list the stack')
  console.log(`\n## ${stack.name}\n\nfiles: ${found.fileState}; services: ${found.services.length}`)
  for (const one of found.services) console.log(`- ${line(one)}`)
  for (const warning of (scan.body.stack as Stack).warnings) console.log(`- scan: ${warning}`)
  const serviceNames = found.services.filter(({ adoptable }) => adoptable).map(({ name }) => `${stack.name}/${name}`)
  if (serviceNames.length === 0) return
  const adopted = await api('POST', '/migration/adopt', { serverId: box.serverId, projectName: stack.name, serviceNames })
  if (adopted.status !== 201) throw new Error(`not adopted: ${JSON.stringify(adopted.body)}`)
  for (const warning of adopted.body.warnings as string[]) console.log(`- ${warning}`)
  for (const [at, line] of (await seen(stack.name)).entries())
    if (line !== before[at]) problems.push(`${stack.name}: changed from ${before[at]} to ${line}`)
  const { id } = adopted.body.project
  if (isDeploying) {
    const deployment = await deploy(id)
    // Longer than the kit waits by itself: a stand-in that never becomes healthy takes its time for every service.
    const ended = () => settled(deployment)
    const { status, error } = await ended().catch(ended)
    console.log(`- deployed: ${status}${error ? ` (${error.code}: ${error.message})` : ''}`)
    if (status !== 'live') problems.push(`${stack.name}: ${status}: ${error?.message}`)
  }
  await api('DELETE', `/projects/${id}`)
}

function line({ name, image, adoptable, reason, drift }: DiscoveredService): string {
  const fate = adoptable ? 'adopted' : `not adopted: ${reason}`
  return `${name} (${image}): ${fate}${drift.length > 0 ? `; drift: ${drift.join(', ')}` : ''}`
}

/**
 * A line for each field of each container, without fields that change by themselves; lists that Docker returns in any order are
 * sorted.
 */
async function seen(project: string): Promise<string[]> {
  const filters = { label: [`com.docker.compose.project=${project}`] }
  const all = (await engine.listContainers({ all: true, filters })).sort((one, other) => one.Id.localeCompare(other.Id))
  const inspected = await Promise.all(all.map(({ Id }) => engine.getContainer(Id).inspect()))
  return inspected.flatMap(({ State: _moves, RestartCount: _grows, ExecIDs: _change, NetworkSettings: _follows, ...rest }) => {
    const mounts = rest.Mounts.map((mount) => JSON.stringify(mount)).sort()
    return Object.entries({ ...rest, Mounts: mounts }).map(([field, value]) => `${rest.Name} ${field} ${JSON.stringify(value)}`)
  })
}
