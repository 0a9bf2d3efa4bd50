import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Project } from '@berth/contract'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Hosting, keepRequesting, ownerSignIn, serving, startHosting, writeApp } from '../kit/hosting.ts'
import { partOf } from '../kit/machine.ts'
import { describeOnDocker, listOnServer, removeNetworkOf, serverRemover } from '../kit/runtimes.ts'
import { type Sshd, startSshd } from '../kit/sshd.ts'

const startCommand = 'node server.js'
/** Adds a line to a file of its volume at every start, logs it, and shows all lines. */
const keeping = `
import { appendFileSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
const file = process.env.BERTH_VOLUME_DATA + '/starts'
appendFileSync(file, 'start\\n')
console.log('it has started')
createServer((_, response) => response.end(readFileSync(file))).listen(process.env.PORT, process.env.HOST)
process.on('SIGTERM', () => process.exit(0))
`

describeOnDocker('a project on a server over SSH', () => {
  let hosting: Hosting
  let sshd: Sshd
  let serverId: string
  beforeAll(async () => {
    sshd = await startSshd(partOf('sshd'))
    // This machine runs projects as processes: no part of a project on a server can be mistaken for a local one.
    const images = { BERTH_BASE_IMAGE_NODE: partOf('nodeImage'), BERTH_BASE_IMAGE_STATIC: partOf('nodeImage') }
    hosting = await startHosting({ env: { ...images, BERTH_SERVER_WAIT_SECONDS: '15', BERTH_JOB_LEASE_SECONDS: '1' } })
    const { host, port, user, privateKey } = sshd
    const server = { name: 'box', host, port, user, privateKey, dockerSocket: partOf('docker') }
    serverId = (await hosting.api('POST', '/servers', server)).body.data.id
    const check = await hosting.api('POST', `/servers/${serverId}/check`)
    expect(check.body.data).toMatchObject({ reachable: true, hostKey: await sshd.fingerprint() })
  })
  afterAll(async () => {
    const remove = hosting && serverRemover(hosting.berth.dataFolder, serverId)
    await sshd?.start()
    await hosting?.[Symbol.asyncDispose]()
    await remove?.()
    await sshd?.[Symbol.asyncDispose]()
  })

  const make = async (name: string, source: string, more: object = {}): Promise<Project> => {
    const localPath = join(hosting.folder, name)
    await writeApp(localPath, source)
    return hosting.makeProject({
      name,
      localPath,
      startCommand,
      healthCheck: { path: '/', timeoutSeconds: 30 },
      serverId,
      ...more,
    })
  }
  const goLive = async (projectId: string) => {
    const deployment = await hosting.settled(await hosting.deploy(projectId))
    expect(deployment).toMatchObject({ status: 'live', error: null })
    return deployment
  }
  const statusOf = async ({ id }: Project) => (await hosting.api('GET', `/projects/${id}`)).body.data
  const onServer = () => listOnServer(hosting.berth.dataFolder, serverId)

  test('is built, served, logged, stopped, started and deleted on the server, and keeps its volume', async () => {
    const project = await make('keeping', keeping, { volumes: [{ name: 'data', mountPath: '/data' }] })
    const host = `${project.slug}.localhost`
    await goLive(project.id)
    expect((await hosting.get(host)).text).toBe('start\n')
    await expect
      .poll(async () => JSON.stringify((await hosting.api('GET', `/projects/${project.id}/logs`)).body))
      .toContain('it has started')
    expect((await hosting.api('GET', `/projects/${project.id}/info`)).body.data.runtime.driver).toBe('docker')
    await hosting.api('POST', `/projects/${project.id}/disable`)
    expect((await onServer()).filter((line) => line.startsWith('container'))).toEqual([])
    await hosting.api('POST', `/projects/${project.id}/enable`)
    await expect.poll(async () => (await hosting.get(host)).text).toBe('start\nstart\n')
    expect((await hosting.api('DELETE', `/servers/${serverId}`)).status).toBe(409)
    expect((await hosting.api('DELETE', `/projects/${project.id}?deleteVolumes=true`)).status).toBe(200)
    expect((await onServer()).filter((line) => !line.startsWith('network'))).toEqual([])
  })

  test('berth servers: add pins the host key and checks, list shows a table, check and remove accept the name', async () => {
    const login = ['login', '--email', ownerSignIn.email, '--password-stdin']
    expect(await hosting.cli(login, { input: ownerSignIn.password })).toMatchObject({ code: 0 })
    const key = join(hosting.folder, 'key')
    await writeFile(key, sshd.privateKey, { mode: 0o600 })
    const location = ['--host', sshd.host, '--port', String(sshd.port), '--user', sshd.user, '--docker-socket', partOf('docker')]
    const added = await hosting.cli(['servers', 'add', 'second', ...location, '--key', key])
    expect(added).toMatchObject({ code: 0, stdout: expect.stringMatching(/second is reachable: Docker \d+\..*SHA256:/) })
    const { stdout: listed } = await hosting.cli(['servers', 'list'])
    expect(listed.split('\n')[0]).toMatch(/^ID\s+NAME\s+ADDRESS\s+LOGIN\s+STATUS\s+CHECKED\s+HOST KEY$/)
    expect(listed).toMatch(/second\s+\S+@127\.0\.0\.1:\d+\s+key\s+reachable/)
    expect(await hosting.cli(['servers', 'check', 'second'])).toMatchObject({ code: 0 })
    expect(await hosting.cli(['servers', 'remove', 'second'])).toMatchObject({ code: 0 })
    const gone = await hosting.cli(['servers', 'check', 'second'])
    expect([gone.code, gone.stderr]).toEqual([2, expect.stringContaining('Server second does not exist')])
    const refused = await hosting.cli(['servers', 'add', 'third', ...location])
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('--key')])
  })

  test('a good deployment fails no request', async () => {
    const project = await make('busy', serving('version 1'))
    await goLive(project.id)
    const requesting = keepRequesting(hosting.berth.edgeUrl, `${project.slug}.localhost`)
    for (const version of ['version 2', 'version 3']) {
      await writeApp(join(hosting.folder, 'busy'), serving(version))
      await goLive(project.id)
    }
    await expect.poll(() => requesting.load.bodies.has('version 3')).toBe(true)
    const { failures, requests, bodies } = await requesting.stop()
    expect({ failures, hasNewest: bodies.has('version 3') }).toEqual({ failures: [], hasNewest: true })
    expect(requests).toBeGreaterThan(20)
  })

  test('a project whose network was removed by hand on the server is restarted on a new network', async () => {
    const project = await make('unplugged', serving('plugged in'))
    await goLive(project.id)
    await removeNetworkOf(project.id)
    await expect.poll(async () => (await hosting.get(`${project.slug}.localhost`)).text).toBe('plugged in')
  })

  test('after kill -9 the control plane serves from the same containers', async () => {
    const project = await make('surviving', serving('still here'))
    await goLive(project.id)
    const before = (await onServer()).filter((line) => line.startsWith('container'))
    await hosting.berth.kill9()
    await hosting.berth.restart()
    await expect.poll(async () => (await hosting.get(`${project.slug}.localhost`)).text).toBe('still here')
    expect((await onServer()).filter((line) => line.startsWith('container'))).toEqual(before)
  })

  test('while a server is unreachable, its projects show it and deployments fail with a message; afterwards all is as before', async () => {
    const project = await make('away', serving('at home'))
    const host = `${project.slug}.localhost`
    await goLive(project.id)
    const containers = async () => (await onServer()).filter((line) => line.startsWith('container'))
    await expect.poll(async () => (await containers()).filter((line) => !line.endsWith(' running'))).toEqual([])
    const before = await containers()
    await sshd.stop()
    const waiting = hosting.deploy(project.id)
    await expect.poll(async () => (await statusOf(project)).status).toBe('unhealthy')
    expect((await statusOf(project)).statusReason).toContain('cannot be reached over SSH')
    const failed = await hosting.settled(await waiting)
    expect(failed).toMatchObject({ status: 'failed', error: { code: 'server_unreachable' } })
    expect(failed.error?.message).toContain('connection refused')
    await sshd.start()
    await expect.poll(async () => (await statusOf(project)).status).toBe('live')
    expect((await hosting.get(host)).text).toBe('at home')
    await expect.poll(containers).toEqual(before)
  })

  // `bench/server-cuts.ts` tests the other steps, and connections that become silent instead of ending.
  test.each(['build', 'start'])('the connection cut during %s: the deployment goes live after the reconnection', async (step) => {
    const name = `cut-${step}`
    const slow = `${serving('one', { afterMs: 1_500 })}`
    const project = await make(name, slow, { buildCommand: `node -e "setTimeout(() => {}, 1500)"` })
    await goLive(project.id)
    await writeApp(join(hosting.folder, name), slow.replace('"one"', '"two"'))
    const id = await hosting.deploy(project.id)
    const isAt = (steps: { name: string; status: string }[]) => steps.some((one) => one.name === step && one.status === 'running')
    await hosting.settled(id, ({ steps, status }) => isAt(steps) || status === 'failed')
    await sshd.stop()
    await new Promise((resolve) => setTimeout(resolve, 3_000))
    await sshd.start()
    const deployment = await hosting.settled(id)
    expect(deployment).toMatchObject({ status: 'live', error: null })
    await expect.poll(async () => (await hosting.get(`${project.slug}.localhost`)).text).toBe('two')
    const own = async () => (await onServer()).filter((line) => line.startsWith('container') && line.includes(id))
    await expect.poll(own).toEqual([`container instance ${id} running`])
    const all = await hosting.api('GET', `/projects/${project.id}/deployments`)
    const old = all.body.data.find((one: { id: string }) => one.id !== id).id
    await expect.poll(async () => (await onServer()).filter((line) => line.includes(`instance ${old}`))).toEqual([])
  })
})
