import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Parts } from '../../src/instance/assemble/assemble.ts'
import { type Answer, call } from '../kit/call.ts'
import type { TestInstance } from '../kit/instance.ts'
import { makeProject } from '../kit/projects.ts'
import { startTwoSides, type TwoSides } from '../kit/two-sides.ts'

/** Two linked instances whose jobs run and whose projects live in memory. */
export interface TransferScene extends TwoSides {
  /** A live local project made from a folder, with a volume, variables and a rule. */
  makeLive(body?: object): Promise<{ id: string; slug: string }>
  move(id: string, to: 'to-cloud' | 'to-self-hosted', body?: object): Promise<Answer>
  /** The edge target of the project's own host name on a side. */
  serves(side: 'here' | 'cloud', slug: string): string | undefined
  volume(side: 'here' | 'cloud', id: string): Promise<string | undefined>
  setVolume(side: 'here' | 'cloud', id: string, content: string): Promise<void>
  end(): Promise<void>
}

/** `env`: settings of each side. */
export async function setTransferScene(
  parts: Partial<Parts> = {},
  env: { here?: Record<string, string>; cloud?: Record<string, string> } = {},
): Promise<TransferScene> {
  const root = mkdtempSync(join(tmpdir(), 'berth-transfers-'))
  const source = join(root, 'app')
  mkdirSync(source)
  writeFileSync(join(source, 'package.json'), JSON.stringify({ name: 'app', scripts: { start: 'node server.js' } }))
  writeFileSync(join(source, 'server.js'), '')
  const retryLimits = { giveUpMs: 1_500, pollMs: 20 }
  const sides = await startTwoSides({ retryLimits, ...parts }, env.cloud, { BERTH_PROJECT_ROOTS: root, ...env.here })
  const stopping = new AbortController()
  const both: TestInstance[] = [sides.here, sides.cloud]
  for (const side of both) {
    await side.running?.start(stopping.signal)
    await side.jobs.start()
  }
  await sides.link()
  const { here, people } = sides
  const request = (at: `${'GET' | 'POST' | 'PATCH'} /${string}`, id: string, body?: object) =>
    call(here, people.owner.token, at, { params: { id }, ...(body ? { body } : {}) })
  const volumeRow = async (side: 'here' | 'cloud', projectId: string) =>
    sides[side].database.db.selectFrom('volumes').selectAll().where('projectId', '=', projectId).executeTakeFirst()
  return {
    ...sides,
    async makeLive(body = {}) {
      const volumes = [{ name: 'data', mountPath: '/data' }]
      const project = await makeProject(here, people.owner.token, { localPath: source, volumes, ...body })
      await request('PATCH /projects/:id/env', project.id, {
        upserts: [
          { key: 'SECRET', value: 'of "many"\n$lines', isSecret: true },
          { key: 'PLAIN', value: 'yes' },
        ],
      })
      await request('POST /projects/:id/route-rules', project.id, { kind: 'ban', config: { ips: ['203.0.113.7'] } })
      await deploy(here, people.owner.token, project.id)
      return project
    },
    move: (id, to, body = {}) => call(here, people.owner.token, `POST /projects/:id/transfer/${to}`, { params: { id }, body }),
    serves: (side, slug) => sides[side].drivers.edge.table.hosts[`${slug}.localhost`]?.target.kind,
    async volume(side, id) {
      const row = await volumeRow(side, id)
      const bytes = row && sides[side].drivers.runtime.volumes.get(row.id)
      return bytes && Buffer.from(bytes).toString('utf8')
    },
    async setVolume(side, id, content) {
      const row = await volumeRow(side, id)
      if (row) sides[side].drivers.runtime.volumes.set(row.id, Buffer.from(content))
    },
    async end() {
      stopping.abort()
      for (const side of both) {
        await side.jobs.stop({ graceMs: 1_000 })
        await side.running?.stop()
      }
      await sides.stop()
      rmSync(root, { recursive: true, force: true })
    },
  }
}

export async function deploy(instance: TestInstance, token: string, projectId: string): Promise<void> {
  const { body } = await call(instance, token, 'POST /deployments/build/access', { body: { projectId } })
  for (;;) {
    const { data } = (await call(instance, token, 'GET /deployments/:id', { params: { id: body.data.deploymentId } })).body
    if (data.status === 'live') return
    if (data.status === 'failed') throw new Error(`it did not get live: ${JSON.stringify(data.error)}`)
    await new Promise((resolve) => setTimeout(resolve, 15))
  }
}
