// gate: also on Docker, since it is the life of a deployment as a user sees it
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import type { Deployment } from '@berth/contract'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Hosting, keepRequesting, serving, startHosting, writeApp } from '../kit/hosting.ts'
import { describeOnRuntimes, listOnDocker } from '../kit/runtimes.ts'

/** Adds a line to a file of its volume at every start, and shows all of them. */
const keeping = `
import { appendFileSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
const file = 'data/starts'
appendFileSync(file, process.env.BERTH_VOLUME_MY_DATA + '\\n')
createServer((_, response) => response.end(readFileSync(file))).listen(process.env.PORT, process.env.HOST)
process.on('SIGTERM', () => process.exit(0))
`
const startCommand = 'node server.js'

/** Shows the visible processes around it, and its variables. */
const notifying = `
import { readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
const programs = () => readdirSync('/proc').filter((name) => /^[0-9]+$/.test(name)).flatMap((pid) => {
  try {
    return [readFileSync('/proc/' + pid + '/cmdline', 'utf8').split('\\0').filter(Boolean).join(' ')]
  } catch {
    return []
  }
})
const managers = Object.keys(process.env).filter((name) => name.startsWith('npm'))
createServer((_, response) => response.end(JSON.stringify({ programs: programs(), color: process.env.COLOR, managers })))
  .listen(process.env.PORT, process.env.HOST)
process.on('SIGTERM', () => console.log('told to end') || process.exit(0))
`

describeOnRuntimes('the life of a project', (runtime) => {
  let hosting: Hosting
  beforeAll(async () => {
    hosting = await startHosting({ runtime })
  })
  afterAll(() => hosting?.[Symbol.asyncDispose]())

  const make = async (name: string, source: string, more: object = {}) => {
    const folder = join(hosting.folder, name)
    await writeApp(folder, source)
    return hosting.makeProject({ name, localPath: folder, startCommand, healthCheck: { path: '/', timeoutSeconds: 20 }, ...more })
  }
  const goLive = async (projectId: string, body = {}) => {
    const deployment = await hosting.settled(await hosting.deploy(projectId, body))
    expect(deployment).toMatchObject({ status: 'live', error: null })
    return deployment
  }
  const post = (id: string, what: string) => hosting.api('POST', `/projects/${id}/${what}`)

  test('a restart applies changed variables and resources without a build, and fails no request', async () => {
    const source = `
import { createServer } from 'node:http'
createServer((_, response) => response.end(process.env.COLOR ?? 'none')).listen(process.env.PORT, process.env.HOST)
process.on('SIGTERM', () => process.exit(0))
`
    const { id, slug } = await make('restarted', source)
    await goLive(id)
    const host = `${slug}.localhost`
    const waiting = async () => (await hosting.api('GET', `/projects/${id}`)).body.data.pendingChanges
    await hosting.api('PATCH', `/projects/${id}/env`, { upserts: [{ key: 'COLOR', value: 'green' }] })
    await hosting.api('PATCH', `/projects/${id}/resources`, { production: { memoryMb: 256 } })
    expect(await waiting()).toEqual(['env', 'resources'])
    const requests = keepRequesting(hosting.berth.edgeUrl, host)
    const { status, body } = await post(id, 'restart')
    expect(status).toBe(202)
    const isOver = (found: Deployment) => found.status === 'failed' || found.requestsDuringSwitch !== null
    const restarted = await hosting.settled(body.data.deploymentId, isOver)
    expect(restarted).toMatchObject({ status: 'live', error: null, requestsDuringSwitch: { failed: 0 } })
    expect(restarted.steps.find(({ name }) => name === 'build')?.status).toBe('skipped')
    const load = await requests.stop()
    expect(load.failures).toEqual([])
    expect([...load.bodies.keys()].sort()).toEqual(['green', 'none'])
    expect((await hosting.get(host)).text).toBe('green')
    expect(await waiting()).toEqual([])
  })

  // Docker has no limit on what a running container writes.
  test.runIf(runtime === 'process')(
    'a project that reached its disk limit reports the remedy, and the remedy restores it',
    async () => {
      const source = `
import { existsSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
createServer(({ url }, response) => {
  if (url === '/fill') for (let at = 0; at < 12; at++) writeFileSync('filled' + at, Buffer.alloc(10_000_000, 1))
  response.end(existsSync('filled11') ? 'full' : 'empty')
}).listen(process.env.PORT, process.env.HOST)
process.on('SIGTERM', () => process.exit(0))
`
      const { id, slug } = await make('filling', source)
      await hosting.api('PATCH', `/projects/${id}/resources`, { production: { diskMb: 64 } })
      await goLive(id)
      // It may be stopped before it has written everything.
      await hosting.get(`${slug}.localhost`, '/fill')
      const reported = async () => {
        const { data } = (await hosting.api('GET', '/notifications/deliveries')).body
        return data.find(
          ({ category, projectId }: Record<string, string>) => category === 'project.unhealthy' && projectId === id,
        )
      }
      await expect.poll(reported, { timeout: 60_000 }).toMatchObject({ text: expect.stringMatching(/64 MB.*diskMb/) })
      const record = async () => (await hosting.api('GET', `/projects/${id}`)).body.data
      const isDown = { status: 'unhealthy', statusReason: expect.stringMatching(/64 MB.*diskMb/) }
      await expect.poll(record, { timeout: 120_000 }).toMatchObject(isDown)
      await hosting.api('PATCH', `/projects/${id}/resources`, { production: { diskMb: 512 } })
      expect((await record()).pendingChanges).toEqual(['resources'])
      expect(await hosting.settled((await post(id, 'restart')).body.data.deploymentId)).toMatchObject({ status: 'live' })
      expect((await hosting.get(`${slug}.localhost`)).text).toMatch(/^(full|empty)$/)
      expect(await record()).toMatchObject({ status: 'live', statusReason: null })
    },
  )

  test('a failed health check is reported with status, exit code and last log lines', async () => {
    const crashing = await make('crashing', `console.log('connecting'); console.error('no database'); process.exit(3)`)
    const { error } = await hosting.settled(await hosting.deploy(crashing.id))
    // A restarted instance writes its lines again, and two outputs have no common order.
    expect({ ...error, logTail: [...new Set(error?.logTail)].sort() }).toEqual({
      code: 'crashed',
      message: 'The new version exited with code 3 before it was healthy',
      logTail: ['connecting', 'no database'],
    })
    const broken = await make('broken', `${serving('x', { status: 500 })}; console.log('up')`, {
      healthCheck: { path: '/ready', timeoutSeconds: 8 },
    })
    expect((await hosting.settled(await hosting.deploy(broken.id))).error).toEqual({
      code: 'unhealthy',
      message: 'The new version was not healthy within 8 s: GET /ready: it answered 500',
      logTail: ['up'],
    })
    const { body } = await hosting.api('GET', `/projects/${crashing.id}/logs`)
    const messages = body.data.map(({ message }: { message: string }) => message)
    expect([...new Set(messages)].sort()).toEqual(['connecting', 'no database'])
  })

  test('rename, redeploy, restart, disable and enable keep the volume and its data', async () => {
    const project = await make('keeper', keeping, { volumes: [{ name: 'my-data', mountPath: '/app/data' }] })
    const starts = async () => (await hosting.get(`${project.slug}.localhost`)).text.trim().split('\n')
    const { id } = await goLive(project.id)
    const [volume] = await starts()
    expect((await hosting.api('PATCH', `/projects/${project.id}`, { name: 'Keeper of things' })).status).toBe(200)
    const { body } = await hosting.api('POST', `/deployments/${id}/redeploy`)
    const isRetired = ({ name, status }: { name: string; status: string }) => name === 'retire' && status === 'succeeded'
    await hosting.settled(body.data.deploymentId, ({ steps }) => steps.some(isRetired))
    expect(await starts()).toHaveLength(2)
    await hosting.berth.restart()
    // Projects outlive a control plane that is restarted.
    expect(await starts()).toHaveLength(2)
    expect((await post(project.id, 'disable')).status).toBe(200)
    expect((await post(project.id, 'enable')).status).toBe(200)
    expect(await starts()).toEqual(Array(3).fill(volume))
  })

  test('a start script that is one plain command runs without a package manager and without a shell', async () => {
    const folder = join(hosting.folder, 'plain')
    await writeApp(folder, notifying)
    await writeFile(join(folder, 'package.json'), JSON.stringify({ type: 'module', scripts: { start: 'node server.js' } }))
    const project = await hosting.makeProject({ name: 'plain', localPath: folder })
    const color = [{ key: 'COLOR', value: 'teal', isSecret: false }]
    expect(
      (await hosting.api('PATCH', `/projects/${project.id}/env`, { environment: 'production', upserts: color })).status,
    ).toBe(200)
    await goLive(project.id)
    const reported = JSON.parse((await hosting.get(`${project.slug}.localhost`)).text)
    expect(reported).toMatchObject({ color: 'teal', managers: [] })
    // Besides it only the init process of its container or sandbox.
    const isInit = (program: string) => /^(\S*\/)?(docker-init|bwrap)( |$)/.test(program)
    expect(reported.programs.filter((program: string) => !isInit(program))).toEqual(['node server.js'])
    expect((await post(project.id, 'disable')).status).toBe(200)
    const { body } = await hosting.api('GET', `/projects/${project.id}/logs`)
    expect(body.data.map(({ message }: { message: string }) => message)).toEqual(['told to end'])
  })

  test('a disabled project serves a 503 page and refuses deployments with 409; enabled, it serves again', async () => {
    const project = await make('switch', serving('on'))
    await goLive(project.id)
    expect(await post(project.id, 'disable')).toMatchObject({ status: 200, body: { data: { status: 'disabled' } } })
    const page = await hosting.get(`${project.slug}.localhost`)
    expect(page.status).toBe(503)
    expect(page.headers['content-type']).toContain('text/html')
    expect(await hosting.api('POST', '/deployments/build/access', { projectId: project.id })).toMatchObject({
      status: 409,
      body: { code: 'project_disabled' },
    })
    expect((await post(project.id, 'disable')).status).toBe(200)
    expect((await post(project.id, 'enable')).status).toBe(200)
    expect(await hosting.get(`${project.slug}.localhost`)).toMatchObject({ status: 200, text: 'on' })
  })

  test('deleting during a deployment is 409 and names it; with force it cancels first; volumes are kept', async () => {
    const volumes = [{ name: 'kept', mountPath: '/kept' }]
    const project = await make('deleted', serving('here'), { volumes })
    await goLive(project.id)
    await hosting.api('PATCH', `/projects/${project.id}`, { buildCommand: 'node -e "setTimeout(() => {}, 30000)"' })
    const id = await hosting.deploy(project.id)
    await hosting.settled(id, ({ steps }) => steps.some(({ name }) => name === 'build'))
    const refused = await hosting.api('DELETE', `/projects/${project.id}`)
    expect(refused).toMatchObject({ status: 409, body: { code: 'work_in_progress' } })
    expect(JSON.stringify(refused.body)).toContain(id)
    const removed = await hosting.api('DELETE', `/projects/${project.id}?force=true`)
    expect(removed.status).toBe(200)
    const volume = removed.body.data.kept.find(({ kind }: { kind: string }) => kind === 'volume')
    expect(volume).toMatchObject({ name: 'kept', kept: true })
    expect((await hosting.api('GET', `/projects/${project.id}`)).status).toBe(404)
    await expect.poll(async () => (await hosting.get(`${project.slug}.localhost`)).status).toBe(404)
  })

  test('a preview environment has its own URL and variables, and is deleted with its project', async () => {
    const project = await make(
      'previewed',
      serving('').replace('response.writeHead(200).end("")', 'response.end(process.env.WHO)'),
    )
    expect(await hosting.api('POST', `/projects/${project.id}/environments`, { name: 'Try' })).toMatchObject({ status: 201 })
    const setEnv = (environment: string) =>
      hosting.api('PATCH', `/projects/${project.id}/env`, { environment, upserts: [{ key: 'WHO', value: environment }] })
    for (const environment of ['production', 'try']) expect((await setEnv(environment)).status).toBe(200)
    const production = await goLive(project.id)
    const preview = await goLive(project.id, { environment: 'try' })
    expect(new URL(preview.url as string).hostname).toBe(`try.${project.slug}.localhost`)
    expect((await hosting.get(`${project.slug}.localhost`)).text).toBe('production')
    expect((await hosting.get(`try.${project.slug}.localhost`)).text).toBe('try')
    expect((await hosting.api('DELETE', `/projects/${project.id}`)).status).toBe(200)
    for (const host of [`${project.slug}.localhost`, `try.${project.slug}.localhost`])
      await expect.poll(async () => (await hosting.get(host)).status).toBe(404)
    if (runtime !== 'docker') return
    const left = async () => {
      const all = await listOnDocker(hosting.berth.dataFolder)
      return all.filter((line) => line.includes(production.id) || line.includes(preview.id))
    }
    await expect.poll(left).toEqual([])
  })

  test('a static site has an ETag, 304 and compression; a deployment replaces it without a failed request', async () => {
    const folder = join(hosting.folder, 'site')
    await mkdir(folder, { recursive: true })
    const write = (text: string) => writeFile(join(folder, 'index.html'), `<h1>${text}</h1>${'<p>words</p>'.repeat(500)}`)
    await write('one')
    const project = await hosting.makeProject({ name: 'site', localPath: folder })
    await goLive(project.id)
    const host = `${project.slug}.localhost`
    const first = await hosting.get(host)
    expect(first.text).toContain('<h1>one</h1>')
    const etag = first.headers.etag as string
    expect(await hosting.get(host, '/', { 'if-none-match': etag })).toMatchObject({ status: 304, text: '' })
    const packed = await hosting.get(host, '/', { 'accept-encoding': 'gzip' })
    expect(packed.headers['content-encoding']).toBe('gzip')
    expect(gunzipSync(packed.bytes).toString()).toBe(first.text)
    const requests = keepRequesting(hosting.berth.edgeUrl, host)
    for (const text of ['two', 'three', 'four']) {
      await write(text)
      await goLive(project.id)
      expect((await hosting.get(host)).text).toContain(`<h1>${text}</h1>`)
    }
    expect((await requests.stop()).failures).toEqual([])
    expect(await hosting.get(host, '/', { 'if-none-match': etag })).toMatchObject({ status: 200 })
  })
})
