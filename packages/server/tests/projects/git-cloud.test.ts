import { mkdtempSync, rmSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { call } from '../kit/call.ts'
import { startInstance, type TestInstance } from '../kit/instance.ts'
import { makePeople, type People } from '../kit/people.ts'
import { callsOn, makeProject } from '../kit/projects.ts'

/** The cloud service never connects to an internal address: not by a git URL, a redirect, or a name that resolves to one. */

const names: Record<string, string[]> = {
  'inside.example': ['127.0.0.1'],
  'half.example': ['93.184.215.14', '127.0.0.1'],
  'mapped.example': ['::ffff:127.0.0.1'],
  'translated.example': ['64:ff9b::7f00:1'],
  'metadata.example': ['169.254.169.254'],
}
let base: string
let cloud: TestInstance
let people: People
let listeners: Server[]
let port: number
let connections = 0
const stopping = new AbortController()

beforeAll(async () => {
  base = mkdtempSync(join(tmpdir(), 'berth-cloud-git-'))
  const count = () =>
    createServer((socket) => {
      connections += 1
      socket.destroy()
    })
  const first = count()
  await new Promise<void>((resolve) => first.listen(0, '127.0.0.1', resolve))
  port = (first.address() as AddressInfo).port
  const second = count()
  await new Promise<void>((resolve) => second.listen(port, '::1', resolve))
  listeners = [first, second]
  cloud = await startInstance(
    { BERTH_MODE: 'cloud', BERTH_DATA_DIR: join(base, 'data'), PATH: process.env.PATH ?? '' },
    {
      resolve: async (name) => {
        const found = names[name]
        if (!found) throw Object.assign(new Error(`queryA ENOTFOUND ${name}`), { code: 'ENOTFOUND' })
        return found
      },
    },
  )
  await cloud.running?.start(stopping.signal)
  await cloud.jobs.start()
  people = await makePeople(cloud)
})
afterAll(async () => {
  stopping.abort()
  await cloud.jobs.stop({ graceMs: 1_000 })
  await cloud.running?.stop()
  await cloud.stop()
  for (const listener of listeners) await new Promise((resolve) => listener.close(resolve))
  rmSync(base, { recursive: true, force: true })
})
beforeEach(() => {
  connections = 0
})

/** `PORT` stands for the listeners' port. */
const spelled = [
  'https://127.0.0.1:PORT/a/b.git',
  'https://2130706433:PORT/a/b.git',
  'https://0x7f.1:PORT/a/b.git',
  'https://0177.0.0.1:PORT/a/b.git',
  'https://127.1:PORT/a/b.git',
  'https://0.0.0.0:PORT/a/b.git',
  'https://[::1]:PORT/a/b.git',
  'https://[::ffff:127.0.0.1]:PORT/a/b.git',
  'https://[::ffff:7f00:1]:PORT/a/b.git',
  'https://[64:ff9b::7f00:1]:PORT/a/b.git',
  'https://localhost:PORT/a/b.git',
  'https://localhost.:PORT/a/b.git',
  'https://LOCALHOST:PORT/a/b.git',
  'https://app.localhost:PORT/a/b.git',
  'https://169.254.169.254/latest/meta-data',
  'ssh://git@127.0.0.1:PORT/a/b.git',
  'ssh://git@127.1:PORT/a/b.git',
  'ssh://git@2130706433:PORT/a/b.git',
  'ssh://git@0x7f000001:PORT/a/b.git',
  'ssh://git@localhost:PORT/a/b.git',
  'ssh://git@[::1]:PORT/a/b.git',
  'ssh://git@[::ffff:127.0.0.1]:PORT/a/b.git',
]
/** Names that look harmless and resolve to internal addresses. */
const named = Object.keys(names).flatMap((name) => [`https://${name}:PORT/a/b.git`, `ssh://git@${name}:PORT/a/b.git`])
/** Not accepted as a remote in any mode. */
const strange = [
  'http://127.0.0.1:PORT/a/b.git',
  'git://127.0.0.1:PORT/a/b.git',
  'file:///etc/passwd',
  'ext::sh -c id',
  'https://github.com@127.0.0.1:PORT/a/b.git',
  'https://127.0.0.1:PORT\\@github.com/a/b.git',
  'ssh://git@[fe80::1%25lo]:PORT/a/b.git',
]
const withPort = (url: string) => url.replace('PORT', String(port))

test.each([...spelled, ...strange])('an address of an internal network is refused: %s', async (url) => {
  const { member } = people
  const gitUrl = withPort(url)
  expect((await call(cloud, member.token, 'POST /projects', { body: { name: 'Shop', gitUrl } })).status).toBe(400)
  expect((await call(cloud, member.token, 'POST /projects/ensure', { body: { name: 'Shop', gitUrl } })).status).toBe(400)
  const project = await makeProject(cloud, member.token)
  expect((await callsOn(cloud, member.token)(project)('PATCH', '', { gitUrl })).status).toBe(400)
  expect(connections).toBe(0)
})

test.each([...spelled, ...named, 'http://127.0.0.1:PORT/a/b.git'])(
  'a stored address, or one that resolves differently now, is never connected to: %s',
  async (url) => {
    const project = await makeProject(cloud, people.admin.token, { gitUrl: 'https://git.example/a/b.git', gitBranch: 'main' })
    await cloud.database.db
      .updateTable('projects')
      .set({ gitUrl: withPort(url) })
      .where('id', '=', project.id)
      .execute()
    const on = callsOn(cloud, people.admin.token)(project)
    expect((await on('GET', '/git')).body.data.recentCommits).toEqual([])
    expect((await on('GET', '/commit-status')).body.data).toMatchObject({ remoteCommit: null, upToDate: null, behindBy: null })
    expect((await on('GET', '/branches')).body.code).toBe('remote_unreachable')
    expect((await on('POST', '/git/link', { owner: 'a', repo: 'c' })).body.code).toBe('remote_unreachable')
    const deployment = await settled(
      (await call(cloud, people.member.token, 'POST /deployments/build/access', { body: { projectId: project.id } })).body.data
        .deploymentId,
    )
    expect(deployment).toMatchObject({ status: 'failed', error: { message: expect.stringMatching(/not a public address/) } })
    expect(connections).toBe(0)
  },
)

test('a name that does not resolve is reported as unknown', async () => {
  const project = await makeProject(cloud, people.admin.token, { gitUrl: 'https://nowhere.example/a/b.git' })
  const answer = await callsOn(cloud, people.admin.token)(project)('GET', '/branches')
  expect(answer.body).toMatchObject({ code: 'remote_unreachable', error: expect.stringContaining('unknown host name') })
})

async function settled(id: string) {
  for (;;) {
    const { body } = await call(cloud, people.member.token, 'GET /deployments/:id', { params: { id } })
    if (!['queued', 'building', 'deploying'].includes(body.data.status)) return body.data
    await new Promise((resolve) => setTimeout(resolve, 15))
  }
}
