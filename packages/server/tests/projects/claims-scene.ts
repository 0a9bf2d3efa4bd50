import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Domain, Project, ProjectDomain, ProjectRoute } from '@berth/contract'
import { MemoryAuthority } from '../edge/memory-authority.ts'
import { MemoryDns } from '../kit/memory-dns.ts'
import { type MemoryDrivers, memoryDrivers } from '../kit/memory-runtime.ts'
import { callsOn, makeProject } from '../kit/projects.ts'
import { asPerson, makePeople, type People, type Scene, seconds, startScene } from '../notifications/scene.ts'

/** Two organisations that claim the same host name, on an instance whose DNS and certificate authority are in memory. */

export const name = 'www.customer.test'
let folder: string
export let drivers: MemoryDrivers
export let authority: MemoryAuthority
export let dns: MemoryDns
export let scene: Scene

/** Stops the instance of the last `begin`. */
export async function end(): Promise<void> {
  await scene?.running?.stop()
  await scene?.stop()
  rmSync(folder, { recursive: true, force: true })
}

export async function begin(env: Record<string, string> = {}, parts: object = {}) {
  folder = mkdtempSync(join(tmpdir(), 'berth-proofs-'))
  authority = new MemoryAuthority(() => Date.now())
  drivers = { ...memoryDrivers(folder), acme: authority }
  dns = new MemoryDns()
  scene = await startScene({
    env: { BERTH_EDGE_TLS_PORT: '4443', BERTH_PUBLIC_URL: 'http://berth.example.test', ...env },
    parts: { drivers, dns, ...parts },
  })
  await scene.running?.start(AbortSignal.timeout(60_000))
  return { ours: await makeSide(), theirs: await makeSide() }
}

export interface Side {
  people: People
  project: Project
  connect(domain?: string): Promise<{ status: number; body: { data: Domain } }>
  route(hostname?: string): Promise<ProjectRoute | undefined>
  retry(): Promise<unknown>
  remove(hostname?: string): Promise<{ status: number }>
  verify(hostname?: string): Promise<ProjectDomain>
  url(): Promise<string>
  told(): Promise<string[]>
}

/** An organisation with a project that was deployed once, so that the edge has a host for each of its names. */
export async function makeSide(): Promise<Side> {
  const people = await makePeople(scene)
  const project = await makeProject(scene, people.owner.token)
  const on = callsOn(scene, people.owner.token)(project)
  const unknown = { deploymentId: null, staticFolder: null, healthReason: null, lastRequestAt: null, changedAt: Date.now() }
  await scene.database.db
    .insertInto('liveEnvironments')
    .values({ projectId: project.id, environment: 'production', state: 'stopped', health: 'unknown', ...unknown })
    .execute()
  return {
    people,
    project,
    connect: (domain = name) => on('POST', '/connect', { domain }),
    route: async (hostname = name) =>
      (await on('GET', '')).body.data.routes.find((route: ProjectRoute) => route.hostname === hostname),
    retry: () => on('POST', '/routing/retry'),
    remove: (hostname = name) => on('DELETE', '/domains/:hostname', undefined, { params: { hostname } }),
    verify: async (hostname = name) =>
      (await on('POST', '/domains/:hostname/verify', undefined, { params: { hostname } })).body.data,
    url: async () => (await on('GET', '')).body.data.url,
    told: async () => {
      await scene.pass(2 * seconds)
      return (await asPerson(scene, people.owner).deliveries()).map(({ subject }: { subject: string }) => subject)
    },
  }
}

export const servedAt = (hostname = name) => drivers.edge.table.hosts[hostname]?.target.projectId
export const proofOf = ({ body }: { body: { data: Domain } }) => body.data.dnsRecords.find(({ type }) => type === 'TXT')!
export const publish = (...records: { name: string; value: string }[]) => {
  dns.records.clear()
  for (const { name, value } of records) dns.records.set(name, [...(dns.records.get(name) ?? []), value])
}
export const settled = () => scene.jobs.whenIdle()
