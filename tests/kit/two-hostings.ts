import { createHash, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Transfer } from '@berth/contract'
import { type Hosting, type HostingOptions, startHosting, writeApp } from './hosting.ts'

export type Side = 'here' | 'cloud'

/** A self-hosted instance and a cloud, both the built product in separate processes, the first linked to the second. */
export interface TwoHostings extends AsyncDisposable {
  here: Hosting
  cloud: Hosting
  /** Creates a live project on the local instance that stores the received text in a volume, and returns it on request. */
  makeKeeper(name: string): Promise<{ id: string; slug: string }>
  /** Returns the project's response on a side; undefined if the project does not serve there. */
  answerOf(side: Side, slug: string): Promise<KeeperAnswer | undefined>
  /** Writes random bytes into the project's volume; returns their hash. */
  fill(side: Side, slug: string, bytes: number): Promise<string>
  move(id: string, to: Side): Promise<{ status: number; body: unknown }>
  transfer(id: string): Promise<Transfer | null>
}

export interface KeeperAnswer {
  secret: string
  files: Record<string, string>
}

/** Responds with the hashes of all files in its volume and with a variable; a PUT creates a file. */
const keeper = `
import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream, readdirSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
const folder = process.env.BERTH_VOLUME_DATA ?? '/data'
const hashOf = async (name) => {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(join(folder, name))) hash.update(chunk)
  return hash.digest('hex')
}
const known = new Map()
const server = createServer(async (request, response) => {
  if (request.method === 'PUT') {
    await pipeline(request, createWriteStream(join(folder, request.url.slice(1))))
    return response.end('kept')
  }
  const files = {}
  for (const name of readdirSync(folder).sort()) {
    if (!known.has(name)) known.set(name, await hashOf(name))
    files[name] = known.get(name)
  }
  response.end(JSON.stringify({ secret: process.env.SECRET, files }))
})
server.listen(process.env.PORT, process.env.HOST)
process.on('SIGTERM', () => { server.close(() => process.exit(0)); server.closeIdleConnections() })
`

export async function startTwoHostings(env: NodeJS.ProcessEnv = {}, { runtime }: HostingOptions = {}): Promise<TwoHostings> {
  const on = { ...(runtime ? { runtime } : {}) }
  const [here, cloud] = await Promise.all([
    startHosting({ ...on, env }),
    startHosting({ ...on, env: { ...env, BERTH_MODE: 'cloud' } }),
  ])
  const sides = { here, cloud }
  const end = async () => {
    await here[Symbol.asyncDispose]()
    await cloud[Symbol.asyncDispose]()
  }
  try {
    const { token } = (await cloud.api('POST', '/tokens', { name: 'link' })).body.data
    const linked = await here.api('PUT', '/cloud/link', { url: cloud.berth.url, token })
    if (linked.status !== 200) throw new Error(`the instance was not linked to the cloud: ${JSON.stringify(linked)}`)
  } catch (error) {
    await end()
    throw error
  }
  return {
    here,
    cloud,
    [Symbol.asyncDispose]: end,
    async makeKeeper(name) {
      const folder = join(here.folder, name)
      await writeApp(folder, keeper)
      const volumes = [{ name: 'data', mountPath: '/data' }]
      const project = await here.makeProject({ name, localPath: folder, volumes, healthCheck: { path: '/' } })
      await here.api('PATCH', `/projects/${project.id}/env`, {
        upserts: [{ key: 'SECRET', value: `of ${name}`, isSecret: true }],
      })
      await here.api('POST', `/projects/${project.id}/route-rules`, { kind: 'ban', config: { ips: ['203.0.113.7'] } })
      const deployment = await here.settled(await here.deploy(project.id))
      if (deployment.status !== 'live') throw new Error(`not live: ${JSON.stringify(deployment.error)}`)
      return project
    },
    async answerOf(side, slug) {
      const page = await sides[side].get(`${slug}.localhost`).catch(() => undefined)
      return page?.status === 200 ? JSON.parse(page.text) : undefined
    },
    async fill(side, slug, bytes) {
      const name = `file-${randomBytes(4).toString('hex')}`
      const hash = createHash('sha256')
      const { hostname, port } = new URL(sides[side].berth.edgeUrl)
      const { request } = await import('node:http')
      const sending = request({ hostname, port, path: `/${name}`, method: 'PUT', headers: { host: `${slug}.localhost` } })
      const answered = new Promise<number>((resolve, reject) => {
        sending.on('error', reject)
        sending.on('response', (response) => resolve(response.resume().statusCode ?? 0))
      })
      for (let left = bytes; left > 0; left -= 1024 * 1024) {
        const chunk = randomBytes(Math.min(left, 1024 * 1024))
        hash.update(chunk)
        if (!sending.write(chunk)) await new Promise((resolve) => sending.once('drain', resolve))
      }
      sending.end()
      if ((await answered) !== 200) throw new Error('the project did not store the file')
      return hash.digest('hex')
    },
    move: (id, to) => here.api('POST', `/projects/${id}/transfer/${to === 'cloud' ? 'to-cloud' : 'to-self-hosted'}`),
    transfer: async (id) => (await here.api('GET', `/projects/${id}/transfer`)).body.data ?? null,
  }
}

/** Resolves with the newest transfer once it has ended. An instance may be down meanwhile: failed reads are repeated. */
export async function endOf(sides: TwoHostings, id: string, withinMs = 240_000): Promise<Transfer> {
  for (const giveUpAt = performance.now() + withinMs; ; ) {
    const transfer = await sides.transfer(id).catch(() => null)
    if (transfer && (transfer.phase === 'done' || transfer.phase === 'failed')) return transfer
    if (performance.now() > giveUpAt) throw new Error(`the transfer has not ended: ${JSON.stringify(transfer)}`)
    await pause(100)
  }
}
