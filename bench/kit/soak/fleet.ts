import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type Hosting, writeApp } from '../../../tests/kit/hosting.ts'
import { Traffic } from './traffic.ts'

export type Role = 'steady' | 'crashing' | 'restored' | 'short-lived'

/** A project of the run, with the constant requests to it. */
export interface SoakProject {
  readonly id: string
  readonly name: string
  readonly role: Role
  readonly folder: string
  readonly traffic: Traffic
  /** True while a chore uses the project exclusively. */
  isTaken: boolean
  version: number
}

const roles: readonly Role[] = [
  ...Array.from({ length: 6 }, () => 'steady' as const),
  ...Array.from({ length: 2 }, () => 'crashing' as const),
  ...Array.from({ length: 2 }, () => 'restored' as const),
]

/** Creates the ten projects, deploys each, and starts the constant requests to each. */
export async function makeFleet(hosting: Hosting): Promise<SoakProject[]> {
  const fleet: SoakProject[] = []
  for (const [at, role] of roles.entries()) fleet.push(await makeSoakProject(hosting, `${role}-${at}`, role))
  return fleet
}

export async function makeSoakProject(hosting: Hosting, name: string, role: Role): Promise<SoakProject> {
  const folder = join(hosting.folder, name)
  await writeApp(folder, app('version 1'))
  const { id, slug } = await hosting.makeProject({
    name,
    localPath: folder,
    startCommand: 'node server.js',
    healthCheck: { path: '/', timeoutSeconds: 20 },
    volumes: [{ name: 'data', mountPath: '/data' }],
    rollbackWindow: 1,
  })
  const traffic = new Traffic(hosting.berth.edgeUrl, `${slug}.localhost`)
  const deployment = await hosting.settled(await hosting.deploy(id))
  if (deployment.status !== 'live') throw new Error(`${name} is ${deployment.status}: ${deployment.error?.message}`)
  traffic.start()
  return { id, name, role, folder, traffic, isTaken: false, version: 1 }
}

/** Removes a short-lived project together with its volume. */
export async function removeSoakProject(hosting: Hosting, project: SoakProject): Promise<void> {
  project.traffic.expectDown()
  await project.traffic.stop()
  const answer = await hosting.api('DELETE', `/projects/${project.id}?deleteVolumes=true&force=true`)
  if (answer.status !== 200) throw new Error(`deletion of ${project.name}: ${answer.status} ${JSON.stringify(answer.body)}`)
}

/**
 * An app with a note in its volume: `/` shows its version, `/note` reads the note, `/note?<text>` writes it, `/exit` ends the
 * process like a crash.
 */
export const app = (text: string) => `
import { createServer } from 'node:http'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
const folder = process.env.BERTH_VOLUME_DATA ?? '/data'
const note = join(folder, 'note')
const routes = {
  '/': (response) => response.end(${JSON.stringify(text)}),
  '/note': (response, query) => {
    if (query) { writeFileSync(note, query); writeFileSync(join(folder, 'bulk'), query.repeat(4000)) }
    try { response.end(readFileSync(note)) } catch { response.end('') }
  },
  '/exit': () => process.exit(7),
}
const server = createServer((request, response) => {
  const { pathname, search } = new URL(request.url, 'http://app')
  if (pathname !== '/') console.log(request.method, pathname)
  const route = routes[pathname]
  if (route) route(response, search.slice(1))
  else response.writeHead(404).end()
})
server.listen(process.env.PORT, process.env.HOST)
process.on('SIGTERM', () => { server.close(() => process.exit(0)); server.closeIdleConnections() })
`

/** Polls a row of the API; the time limit prevents a stuck run from passing as a slow one. */
export async function waitFor<Row>(
  hosting: Hosting,
  path: string,
  until: (row: Row) => boolean,
  withinMs = 180_000,
): Promise<Row> {
  for (const end = performance.now() + withinMs; ; ) {
    const answer = await hosting.api('GET', path)
    if (answer.status === 200 && until(answer.body.data)) return answer.body.data
    if (performance.now() > end) throw new Error(`${path} is still ${answer.status} ${JSON.stringify(answer.body).slice(0, 400)}`)
    await pause(250)
  }
}
