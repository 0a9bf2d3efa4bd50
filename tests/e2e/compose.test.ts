import { cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Deployment } from '@berth/contract'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Hosting, keepRequesting, startHosting } from '../kit/hosting.ts'
import { partOf } from '../kit/machine.ts'
import { describeOnDocker, listOnDocker, subnetsOnDocker } from '../kit/runtimes.ts'

const example = join(import.meta.dirname, '..', '..', 'examples', 'compose')

/** Images of the test machine are named as in a mirror of the public registry. */
const mirror = () => partOf('nodeImage').split('/')[0] as string

const isRetired = ({ status, steps }: Deployment) =>
  status === 'failed' || steps.some(({ name, status: done }) => name === 'retire' && done === 'succeeded')

describeOnDocker('a Compose project', () => {
  let hosting: Hosting
  let folder: string
  let project: { id: string; slug: string }
  beforeAll(async () => {
    hosting = await startHosting({
      runtime: 'docker',
      env: { BERTH_IMAGE_MIRROR: mirror(), BERTH_JOB_LEASE_SECONDS: '1', BERTH_NETWORK_RANGE: '10.209.0.0/20' },
    })
    folder = join(hosting.folder, 'shop')
    await mkdir(folder)
    await cp(example, folder, { recursive: true })
  })
  afterAll(() => hosting?.[Symbol.asyncDispose]())

  const page = async () => (await hosting.get(`${project.slug}.localhost`)).text
  const visits = async () => Number(/visit (\d+)/.exec(await page())?.[1])
  const edit = async (file: string, change: (text: string) => string) =>
    writeFile(join(folder, file), change(await readFile(join(folder, file), 'utf8')))
  const deploy = async (body: object = {}) => hosting.settled(await hosting.deploy(project.id, body), isRetired)
  const logOf = async ({ id }: Deployment) =>
    (await hosting.api('GET', `/deployments/${id}/logs?tail=500`)).body.data.map(({ message }: { message: string }) => message)

  const containers = async () =>
    (await listOnDocker(hosting.berth.dataFolder)).flatMap((line) => /^container instance (.*)/.exec(line)?.[1] ?? [])

  test('a scan finds the services; after a deployment the exposed one answers and reaches the other by name', async () => {
    const { body } = await hosting.api('POST', '/projects/scan', { path: folder })
    expect(body.data).toMatchObject({ type: 'services', framework: 'compose', port: 3000, warnings: [] })
    expect(body.data.services.map(({ name, exposed }: { name: string; exposed: boolean }) => [name, exposed])).toEqual([
      ['web', true],
      ['counter', false],
    ])
    project = await hosting.makeProject({ name: 'shop', localPath: folder, type: body.data.type })
    const first = await deploy()
    expect(first).toMatchObject({ status: 'live', error: null })
    // The health check counts as a visit too.
    expect(await page()).toMatch(/^Hello from Compose on Berth: visit [12]\n$/)
    const log = await logOf(first)
    expect(log.indexOf('Starting counter')).toBeGreaterThan(-1)
    expect(log.indexOf('Starting counter')).toBeLessThan(log.indexOf('Starting web'))
    const subnets = await subnetsOnDocker(hosting.berth.dataFolder)
    expect(subnets).not.toEqual([])
    for (const subnet of subnets) expect(subnet).toMatch(/^10\.209\.(\d|1[0-5])\.\d+\/(2[5-9])$/)
  })

  test('a redeploy under constant load fails no request and keeps the data of the volume', async () => {
    const before = await visits()
    const requesting = keepRequesting(hosting.berth.edgeUrl, `${project.slug}.localhost`)
    await edit('web/server.js', (text) => text.replace('Hello from Compose', 'Ahoy from Compose'))
    const second = await deploy()
    const load = await requesting.stop()
    expect(second).toMatchObject({ status: 'live', error: null, requestsDuringSwitch: { failed: 0 } })
    expect(load.failures).toEqual([])
    expect(load.requests).toBeGreaterThan(50)
    expect(await page()).toMatch(/^Ahoy from Compose/)
    expect(await visits()).toBeGreaterThan(before + load.requests)
    // The counter did not change: its container, which writes the volume, is kept.
    expect(await logOf(second)).toContain('counter is unchanged and keeps running')
    // Its own network and that of the version that uses it; the networks of earlier versions are removed.
    await edit('web/server.js', (text) => `${text}\n`)
    await deploy()
    const networks = async () => (await listOnDocker(hosting.berth.dataFolder)).filter((line) => line.startsWith('network'))
    await expect.poll(async () => (await networks()).length).toBe(2)
  })

  test('each service has its own environment and the variables of the project', async () => {
    await edit('web/server.js', (text) => `${text}\nconsole.log('web is', process.env.WHO, process.env.KEY)\n`)
    await edit('counter/server.js', (text) => `${text}\nconsole.log('counter is', process.env.WHO, process.env.KEY)\n`)
    await edit('compose.yaml', (text) =>
      text
        .replace('      COUNTER_URL', '      WHO: the web\n      COUNTER_URL')
        .replace("    expose: ['4000']", "    environment: ['WHO=the counter']\n    ports: ['4000']"),
    )
    const upserts = [{ key: 'KEY', value: 'a "$key" # of all' }]
    expect((await hosting.api('PATCH', `/projects/${project.id}/env`, { upserts })).status).toBe(200)
    const before = await visits()
    const third = await deploy()
    expect(third).toMatchObject({ status: 'live', error: null })
    expect(await logOf(third)).toContain('Handing over the data of counter: stopping counter first')
    expect(await visits()).toBeGreaterThan(before)
    const linesOf = async (service: string) =>
      (await hosting.api('GET', `/projects/${project.id}/logs?service=${service}&tail=500`)).body.data.map(
        (line: { service: string; message: string }) => `${line.service}: ${line.message}`,
      )
    await expect.poll(() => linesOf('web')).toContain('web: web is the web a "$key" # of all')
    await expect.poll(() => linesOf('counter')).toContain('counter: counter is the counter a "$key" # of all')
  })

  test('a second service that publishes a port is served at its own host name across deployments', async () => {
    const counted = await visits()
    const { data } = (await hosting.api('GET', `/projects/${project.id}`)).body
    const hostname = `counter.${project.slug}.localhost`
    expect(data.routes).toMatchObject([{ primary: true }, { hostname, service: 'counter', primary: false, state: 'synced' }])
    expect(Number((await hosting.get(hostname)).text)).toBeGreaterThanOrEqual(counted)
  })

  test('a failed second version leaves the old version serving, even if it had taken over the volume', async () => {
    const before = await visits()
    const { data } = (await hosting.api('GET', `/projects/${project.id}/deployments?status=live`)).body
    const live = data[0].id
    const good = await readFile(join(folder, 'web/server.js'), 'utf8')
    await edit('web/server.js', () => `console.error('no database'); process.exit(3)`)
    const error = {
      code: 'crashed',
      message: 'The service web exited with code 3 before it was healthy',
      logTail: expect.arrayContaining(['no database']),
    }
    const requests = keepRequesting(hosting.berth.edgeUrl, `${project.slug}.localhost`)
    expect(await deploy()).toMatchObject({ status: 'failed', error })
    expect((await requests.stop()).failures).toEqual([])
    await edit('counter/server.js', (text) => `${text}\nconsole.log('another counter')\n`)
    const another = await deploy()
    // Restored before the assertions: the following tests need a version that works.
    await writeFile(join(folder, 'web/server.js'), good)
    expect(another).toMatchObject({ status: 'failed', error })
    await expect.poll(containers).toEqual([`${live} running`, `${live} running`])
    await expect.poll(page).toMatch(/^Ahoy from Compose on Berth: visit/)
    expect(await visits()).toBeGreaterThan(before)
  })

  test('a rollback restores the first version and keeps the current data', async () => {
    const before = await visits()
    const { body } = await hosting.api('GET', `/projects/${project.id}/deployments`)
    const first = body.data.find(({ number }: Deployment) => number === 1)
    const started = await hosting.api('POST', `/deployments/${first.id}/rollback`)
    expect(started.status).toBe(202)
    expect(await hosting.settled(started.body.data.deploymentId, isRetired)).toMatchObject({ status: 'live', error: null })
    expect(await page()).toMatch(/^Hello from Compose/)
    expect(await visits()).toBeGreaterThan(before)
  })

  test.each(['start', 'health'])(
    'kill -9 of the control plane at %s: the deployment goes live after the restart',
    async (step) => {
      await edit('web/server.js', (text) => text.replace(/'[^']* from Compose on Berth'/, `'${step} from Compose on Berth'`))
      await edit('counter/server.js', (text) => `${text}\nconsole.log('for ${step}')\n`)
      const before = await visits()
      const id = await hosting.deploy(project.id)
      await hosting.settled(id, ({ steps }) => steps.some(({ name }) => name === step))
      await hosting.berth.kill9()
      await hosting.berth.restart()
      expect(await hosting.settled(id, isRetired)).toMatchObject({ status: 'live', error: null })
      expect(await page()).toMatch(new RegExp(`^${step} from Compose on Berth: visit`))
      expect(await visits()).toBeGreaterThan(before)
      await expect.poll(containers).toEqual([`${id} running`, `${id} running`])
    },
  )

  test('a one-shot service ends before its dependents start, and dependents wait for a declared health check', async () => {
    const other = join(hosting.folder, 'ordered')
    await mkdir(join(other, 'docker'), { recursive: true })
    const file = {
      services: {
        web: {
          build: { context: '.', dockerfile: 'docker/web.Dockerfile' },
          ports: ['3000'],
          depends_on: { migrate: { condition: 'service_completed_successfully' }, store: { condition: 'service_healthy' } },
          volumes: ['state:/state:ro'],
        },
        store: {
          image: 'node:24',
          command: ['sh', '-c', 'sleep 2; echo ready > /tmp/ready; exec sleep 3600'],
          healthcheck: { test: ['CMD', 'test', '-f', '/tmp/ready'], interval: '1s', retries: 60 },
        },
        migrate: {
          image: 'node:24',
          command: ['sh', '-c', 'sleep 4; echo migrated > /state/done'],
          restart: 'no',
          volumes: ['state:/state'],
        },
      },
      volumes: { state: {} },
    }
    await writeFile(join(other, 'compose.yaml'), JSON.stringify(file))
    await writeFile(
      join(other, 'docker', 'web.Dockerfile'),
      'FROM node:24\nCOPY server.js /server.js\nCMD ["node", "/server.js"]\n',
    )
    await writeFile(
      join(other, 'server.js'),
      `const done = require('node:fs').readFileSync('/state/done', 'utf8')
require('node:http').createServer((_, response) => response.end(done)).listen(3000)`,
    )
    const { id, slug } = await hosting.makeProject({ name: 'ordered', localPath: other })
    const deployment = await hosting.settled(await hosting.deploy(id))
    expect(deployment).toMatchObject({ status: 'live', error: null })
    expect((await hosting.get(`${slug}.localhost`)).text).toBe('migrated\n')
    const { data } = (await hosting.api('GET', `/projects/${id}`)).body
    expect(data).toMatchObject({ status: 'live', statusReason: null })
    expect((await hosting.api('DELETE', `/projects/${id}?deleteVolumes=true`)).status).toBe(200)
  })

  test('project variables and files are interpolated, secrets are in no record, and a missing variable is named in the error', async () => {
    const other = join(hosting.folder, 'filled')
    await mkdir(other)
    const web = {
      image: 'node:24',
      ports: ['3000'],
      command: ['node', '/etc/web/show.js'],
      volumes: ['./settings:/etc/web:ro'],
      env_file: ['./web.env'],
      environment: { URL: `db://\${NAME:-guest}:\${PASSWORD:?needed}@db` },
    }
    await writeFile(join(other, 'compose.yaml'), JSON.stringify({ services: { web } }))
    await mkdir(join(other, 'settings'))
    const show = `require('node:http').createServer((_, response) => response.end(JSON.stringify(process.env))).listen(3000)`
    await writeFile(join(other, 'settings', 'show.js'), show)
    await writeFile(join(other, 'web.env'), 'FROM_FILE="a b"\nURL=not this one\n')
    const imported = await hosting.api('POST', '/projects/import', { path: other })
    expect(imported).toMatchObject({ status: 201, body: { data: { type: 'services', config: { services: [] } } } })
    const { id, slug } = imported.body.data
    expect((await hosting.settled(await hosting.deploy(id))).error).toMatchObject({
      code: 'plan_failed',
      message: expect.stringContaining('the variable PASSWORD must be set (needed)'),
    })
    const upserts = [
      { key: 'PASSWORD', value: 'canary $1', isSecret: true },
      { key: 'NAME', value: 'ann' },
    ]
    await hosting.api('PATCH', `/projects/${id}/env`, { upserts })
    const deployment = await hosting.settled(await hosting.deploy(id))
    expect(deployment).toMatchObject({ status: 'live', error: null })
    const { text } = await hosting.get(`${slug}.localhost`)
    expect(JSON.parse(text)).toMatchObject({ URL: 'db://ann:canary $1@db', FROM_FILE: 'a b' })
    const files = ['berth.db', 'berth.db-wal'].map((name) => readFile(join(hosting.berth.dataFolder, name), 'latin1'))
    const kept = (await Promise.all(files)).join('')
    expect([kept.includes('db://ann:'), kept.includes('canary')]).toEqual([true, false])
    expect((await hosting.api('DELETE', `/projects/${id}`)).status).toBe(200)
  })

  test('a Compose file that uses resources outside the project is not run, and the error names the setting', async () => {
    const other = join(hosting.folder, 'escaping')
    await mkdir(other)
    const file = { services: { web: { image: 'node:24', ports: ['3000'], privileged: true, volumes: ['/etc:/host'] } } }
    await writeFile(join(other, 'compose.yaml'), JSON.stringify(file))
    const { id } = await hosting.makeProject({ name: 'escaping', localPath: other })
    const { status, error } = await hosting.settled(await hosting.deploy(id))
    expect([status, error?.code]).toEqual(['failed', 'plan_failed'])
    expect(error?.message).toContain('services.web.privileged')
    expect((await hosting.api('DELETE', `/projects/${id}`)).status).toBe(200)
  })

  test('deleting the project removes containers, networks and images, and keeps the volume', async () => {
    const preview = await hosting.api('GET', `/projects/${project.id}/deletion-preview`)
    const kinds = preview.body.data.items.map(({ kind, kept }: { kind: string; kept: boolean }) => `${kind} ${kept}`)
    expect(kinds).toEqual(expect.arrayContaining(['instance false', 'image false', 'volume true']))
    expect((await hosting.api('DELETE', `/projects/${project.id}`)).status).toBe(200)
    const left = async () => (await listOnDocker(hosting.berth.dataFolder)).map((line) => line.split(' ')[0])
    await expect.poll(left).toEqual(['volume'])
    expect((await hosting.get(`counter.${project.slug}.localhost`)).status).toBe(404)
  })
})
