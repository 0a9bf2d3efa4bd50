import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type Hosting, startHosting } from '../tests/kit/hosting.ts'
import { lookUp } from '../tests/kit/machine.ts'
import type { RuntimeKind } from '../tests/kit/runtimes.ts'
import type { Kind } from './kinds/kind.ts'
import { managers } from './kinds/managers.ts'
import { others } from './kinds/others.ts'
import { pages } from './kinds/pages.ts'
import { servers } from './kinds/servers.ts'
import { table } from './kit/table.ts'

/**
 * node bench/kinds.ts [--runtime=process|docker] [--only=name,name]: installs, builds, deploys and requests projects of many kinds
 * on both runtimes. Reports for each whether it went live and responded with the right text, and why not. Exits with 1 if one did
 * not. Run it after a change to detection, builds or health checks: a whole run takes half an hour.
 */
const word = (name: string) =>
  process.argv
    .slice(2)
    .find((one) => one.startsWith(`--${name}=`))
    ?.slice(name.length + 3)
const only = word('only')?.split(',')
const kinds = [...servers, ...pages, ...managers, ...others].filter(({ name }) => !only || only.includes(name))
const runtimes = (['process', 'docker'] as const).filter((one) => (word('runtime') ?? one) === one)
const rows: (string | number)[][] = []
for (const runtime of runtimes) {
  const docker = lookUp('docker')
  if (runtime === 'docker' && 'reason' in docker) console.log(`without Docker: ${docker.reason}`)
  else await tryAll(runtime)
}
console.log(table(['kind', 'runtime', 'seconds', 'result'], rows))
const good = rows.filter(([, , , result]) => result === 'right')
console.log(`${good.length} of ${rows.length} right; ${new Set(good.map(([name]) => name)).size} kinds of ${kinds.length}`)
process.exitCode = good.length === rows.length ? 0 : 1

async function tryAll(runtime: RuntimeKind): Promise<void> {
  await using hosting = await startHosting({ runtime })
  for (const kind of kinds.filter((one) => (one.only ?? runtime) === runtime)) {
    const begun = performance.now()
    const result = await tried(kind, hosting).catch((error: Error) => `could not be deployed: ${error.message}`)
    const seconds = Math.round((performance.now() - begun) / 1000)
    rows.push([kind.name, runtime, seconds, result])
    console.log(`${runtime} ${kind.name}: ${result} (${seconds} s)`)
  }
}

async function tried(kind: Kind, hosting: Hosting): Promise<string> {
  const folder = join(hosting.folder, kind.name)
  for (const [path, content] of Object.entries(kind.files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), typeof content === 'string' ? content : JSON.stringify(content, null, 2))
  }
  const project = await hosting.makeProject({ name: kind.name, localPath: folder, ...kind.settings })
  const deployment = await over(await hosting.deploy(project.id), hosting)
  const host = `${project.slug}.localhost`
  const answered =
    deployment.status === 'live' ? await asked(kind, host, hosting) : `${deployment.status}: ${reasonOf(deployment)}`
  await hosting.api('DELETE', `/projects/${project.id}?force=true`)
  return answered
}

/** Resolves once the deployment has ended: installing its packages may take minutes. */
async function over(id: string, { deployment }: Hosting) {
  for (const until = performance.now() + 15 * 60_000; ; await pause(250)) {
    const current = await deployment(id)
    if (!['queued', 'building', 'deploying'].includes(current.status)) return current
    if (performance.now() > until) throw new Error(`the deployment was still ${current.status} after 15 minutes`)
  }
}

async function asked({ path = '/', says, also }: Kind, host: string, hosting: Hosting): Promise<string> {
  const page = await hosting.get(host, path)
  if (page.status !== 200 || !page.text.includes(says)) return `${path} answered ${page.status}: ${page.text.slice(0, 120)}`
  if (!also) return 'right'
  const other = await hosting.get(`${also.service}.${host}`)
  return other.text.includes(also.says)
    ? 'right'
    : `${also.service}.${host} answered ${other.status}: ${other.text.slice(0, 120)}`
}

function reasonOf({ error }: Awaited<ReturnType<typeof over>>): string {
  const text = `${error?.code}: ${error?.message} ${(error?.logTail ?? []).slice(-8).join(' | ')}`
  return text.replace(/\s+/g, ' ').slice(0, 800)
}
