import { randomBytes } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Deployment, Project } from '@berth/contract'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { openEngine } from '../../packages/server/src/drivers/runtime/docker/engine.ts'
import { type Hosting, startHosting } from '../kit/hosting.ts'
import { startImageRegistry } from '../kit/image-registry.ts'
import { lookUp, partOf } from '../kit/machine.ts'
import { describeOnDocker, listHolding, listOnServer, serverRemover } from '../kit/runtimes.ts'
import { type Sshd, startSshd } from '../kit/sshd.ts'

/** Responds to each request with the value of an expression. */
const answering = (expression: string, before = '') => `const fs = require('node:fs')
${before}
require('node:http').createServer(async (request, response) => response.end(String(await (${expression})))).listen(3000)
process.on('SIGTERM', () => process.exit(0))
`
const node = () => partOf('nodeImage')
const dockerfile = (...lines: string[]) =>
  [`FROM ${node()}`, ...lines, 'COPY server.js /', 'CMD ["node", "/server.js"]', ''].join('\n')
/** The same behaviour that docker-health, docker-disk, needed-stages, compose and restarts tests show on this machine's engine. */
describeOnDocker('Docker features on the engine of a server over SSH', () => {
  let hosting: Hosting
  let sshd: Sshd
  let serverId: string
  beforeAll(async () => {
    sshd = await startSshd(partOf('sshd'))
    hosting = await startHosting({ env: { BERTH_SERVER_WAIT_SECONDS: '6', BERTH_JOB_LEASE_SECONDS: '1' } })
    const { host, port, user, privateKey } = sshd
    const server = { name: 'box', host, port, user, privateKey, dockerSocket: partOf('docker') }
    serverId = (await hosting.api('POST', '/servers', server)).body.data.id
    await hosting.api('POST', `/servers/${serverId}/check`)
  })
  afterAll(async () => {
    const remove = hosting && serverRemover(hosting.berth.dataFolder, serverId)
    await hosting?.[Symbol.asyncDispose]()
    await remove?.()
    await sshd?.[Symbol.asyncDispose]()
  })

  const write = async (name: string, files: Record<string, string>): Promise<string> => {
    const folder = join(hosting.folder, name)
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(folder, path)), { recursive: true })
      await writeFile(join(folder, path), text)
    }
    return folder
  }
  const make = async (name: string, files: Record<string, string>, more: object = {}): Promise<Project> =>
    hosting.makeProject({ name, localPath: await write(name, files), serverId, ...more })
  const deploy = async ({ id }: Project): Promise<Deployment> => hosting.settled(await hosting.deploy(id))
  const page = async ({ slug }: Project, path = '/') => (await hosting.get(`${slug}.localhost`, path)).text
  const record = async ({ id }: Project): Promise<Project> => (await hosting.api('GET', `/projects/${id}`)).body.data
  const logOf = async ({ id }: Deployment) => JSON.stringify((await hosting.api('GET', `/deployments/${id}/logs?tail=500`)).body)
  const remove = ({ id }: Project) => hosting.api('DELETE', `/projects/${id}?deleteVolumes=true`)
  const onServer = async ({ id }: Deployment) =>
    (await listOnServer(hosting.berth.dataFolder, serverId)).filter((line) => line.includes(id))
  const live = { status: 'live', error: null }
  const newMark = () => `mark-${randomBytes(6).toString('hex')}`

  describe.concurrent('each applies on a server', () => {
    test('diskMb: a project that fills its volume is stopped with the reason', async ({ expect }) => {
      const fill = `request.url === '/fill' ? fs.promises.writeFile('/data/big', Buffer.alloc(96 << 20, 1)).then(() => 'full') : 'room'`
      const project = await make(
        'filling',
        { Dockerfile: dockerfile(), 'server.js': answering(fill) },
        { volumes: [{ name: 'data', mountPath: '/data' }], resources: { production: { diskMb: 64 } } },
      )
      expect(await deploy(project)).toMatchObject(live)
      expect(await page(project, '/fill')).toBe('full')
      // One measurement a minute, and the engine refuses it while it measures for another test.
      await expect
        .poll(async () => (await record(project)).statusReason ?? '', { timeout: 500_000 })
        .toContain('exceeded its disk limit of 64 MB')
      const { runtime } = (await hosting.api('GET', `/projects/${project.id}/info`)).body.data
      expect(runtime.lastExit).toMatchObject({ reason: 'disk_full' })
    })

    test('HEALTHCHECK: a version that is unhealthy by its Dockerfile does not replace the live one', async ({ expect }) => {
      const check = 'HEALTHCHECK --interval=1s --timeout=2s --retries=2 CMD test -f /well || { echo not well; exit 1; }'
      const good = { Dockerfile: dockerfile(check, 'RUN touch /well'), 'server.js': answering(`'good'`) }
      const project = await make('checked', good, { healthCheck: { path: '/', timeoutSeconds: 15 } })
      expect(await deploy(project)).toMatchObject(live)
      await write('checked', { Dockerfile: dockerfile(check), 'server.js': answering(`'bad'`) })
      const bad = await deploy(project)
      expect(bad).toMatchObject({ status: 'failed', error: { code: 'unhealthy', message: expect.stringContaining('not well') } })
      expect(await page(project)).toBe('good')
      await expect.poll(() => onServer(bad)).toEqual([])
    })

    test('stages: an unneeded stage is not built, and deletion removes all stages', async ({ expect }) => {
      const mark = newMark()
      const text = `FROM ${node()} AS build\nENV MARK=${mark}\nRUN echo built > /built\nFROM build AS test\nRUN exit 1\n${dockerfile(
        `ENV MARK=${mark}`,
        'COPY --from=build /built /',
      )}`
      const project = await make('staged', { Dockerfile: text, 'server.js': answering(`fs.readFileSync('/built', 'utf8')`) })
      expect(await deploy(project)).toMatchObject(live)
      expect(await page(project)).toBe('built\n')
      expect(await listHolding(mark)).not.toEqual([])
      expect((await remove(project)).status).toBe(200)
      await expect.poll(() => listHolding(mark)).toEqual([])
    })

    test('buildArgs reach an ARG; a secret variable reaches the container and not the image', async ({ expect }) => {
      const secret = newMark()
      const args = ['ARG GREETING', 'ARG PLACE', 'ARG KEY', 'RUN echo "$GREETING $PLACE [$KEY]" > /args']
      const server = answering(`fs.readFileSync('/args', 'utf8') + process.env.KEY`)
      const project = await make(
        'arguments',
        { Dockerfile: dockerfile(...args), 'server.js': server },
        { buildArgs: { GREETING: 'hello' } },
      )
      const upserts = [
        { key: 'KEY', value: secret, isSecret: true },
        { key: 'PLACE', value: 'world' },
      ]
      await hosting.api('PATCH', `/projects/${project.id}/env`, { upserts })
      const deployment = await deploy(project)
      expect(deployment).toMatchObject(live)
      expect(await page(project)).toBe(`hello world []\n${secret}`)
      const image = openEngine(partOf('docker')).getImage(deployment.image ?? '')
      const reported = JSON.stringify([await image.history(), await image.inspect(), await logOf(deployment)])
      expect([reported.includes('GREETING'), reported.includes(secret)]).toEqual([true, false])
    })

    test('composePath, a build in its folder, an internal network, two replicas and an inline config work', async ({
      expect,
    }) => {
      const stores = `require('node:dns').promises.lookup('store', { all: true, family: 4 })`
      const far = `fetch('http://store:3000').then((answer) => answer.text())`
      const shown = `JSON.stringify([fs.readFileSync('/page.txt', 'utf8'), await ${far}, (await ${stores}).length])`
      const compose = {
        services: {
          web: {
            build: '../web',
            ports: ['3000'],
            networks: ['front', 'back'],
            configs: [{ source: 'page', target: '/page.txt' }],
          },
          store: { build: '../store', networks: ['back'], scale: 2 },
        },
        networks: { front: {}, back: { internal: true } },
        configs: { page: { content: 'inline' } },
      }
      const project = await make(
        'laid-out',
        {
          'ops/compose.yaml': JSON.stringify(compose),
          'web/Dockerfile': dockerfile(),
          'web/server.js': answering(shown),
          'store/Dockerfile': dockerfile(),
          'store/server.js': answering(`'from the store'`),
          Dockerfile: dockerfile(),
          'server.js': answering(`'the Dockerfile beside it'`),
        },
        { composePath: 'ops/compose.yaml' },
      )
      expect(await deploy(project)).toMatchObject(live)
      expect(JSON.parse(await page(project))).toEqual(['inline', 'from the store', 2])
      const engine = openEngine(partOf('docker'))
      const label = [`berth.project=${project.id}`]
      const networks = await engine.listNetworks({ filters: { label } })
      const rows = await engine.listContainers({ filters: { label } })
      // Reaching the outside cannot be tested without an external address: the engine reports which networks are internal.
      const joined = rows.map(({ Labels, NetworkSettings }) => {
        const own = networks.filter(({ Name }) => Name in NetworkSettings.Networks)
        return [Labels['berth.service'], ...own.map(({ Labels: of, Internal }) => `${of?.['berth.part']} ${Internal}`).sort()]
      })
      expect(joined.sort()).toEqual([
        ['store', 'back true'],
        ['store', 'back true'],
        ['web', 'back true', 'front false'],
      ])
    })

    test('a worker service that repeatedly ends with code 3 is shown in the record beside a healthy web service', async ({
      expect,
    }) => {
      const web = answering(`request.url === '/' ? 'here' : fetch('http://worker:3000').catch(() => 'ended')`)
      const services = { web: { build: 'web', ports: ['3000'] }, worker: { build: 'worker', expose: [3000], restart: 'always' } }
      const project = await make('worked', {
        'compose.yaml': JSON.stringify({ services }),
        'web/Dockerfile': dockerfile(),
        'web/server.js': web,
        'worker/Dockerfile': dockerfile(),
        'worker/server.js': answering('process.exit(3)'),
      })
      expect(await deploy(project)).toMatchObject(live)
      const worker = async () => {
        await page(project, '/end')
        return (await record(project)).services?.find(({ name }) => name === 'worker')
      }
      const lastExit = { code: 3, reason: 'exit' }
      await expect.poll(worker).toMatchObject({ restarts: expect.toSatisfy((count) => count >= 2), lastExit })
      expect(await page(project)).toBe('here')
      const { services: all } = await record(project)
      expect(all?.find(({ name }) => name === 'web')).toMatchObject({ status: 'running', restarts: 0, lastExit: null })
    })

    test.skipIf('reason' in lookUp('registry'))(
      'an image of a private registry is refused without a login, pulled with one, and removed with its project',
      async ({ expect }) => {
        await using registry = await startImageRegistry(partOf('registry'))
        const engine = openEngine(partOf('docker'))
        const { host, username, password } = registry
        const repo = `${host}/team/web`
        const container = await engine.createContainer({ Image: node(), Cmd: ['true'] })
        const program = `require('node:http').createServer((_, response) => response.end('pulled')).listen(3000)`
        const changes = [`CMD ${JSON.stringify(['node', '-e', program])}`, 'EXPOSE 3000'].join('\n')
        await container.commit({ repo, tag: '1', changes })
        await container.remove()
        const pushing = await engine.getImage(`${repo}:1`).push({ authconfig: { username, password, serveraddress: host } })
        await new Promise((resolve, reject) =>
          engine.modem.followProgress(pushing, (error) => (error ? reject(error) : resolve(null))),
        )
        await engine.getImage(`${repo}:1`).remove()
        const named = async () =>
          (await engine.listImages()).filter(({ RepoDigests }) => RepoDigests?.some((one) => one.startsWith(host)))
        const project = await hosting.makeProject({ name: 'pulled', image: `${repo}:1`, serverId })
        const refused = await deploy(project)
        const message = expect.stringContaining(`Add a login for ${host}`)
        expect(refused).toMatchObject({ status: 'failed', error: { code: 'image_failed', message } })
        expect(await named()).toEqual([])
        expect((await hosting.api('POST', '/registries', { host, username, password })).status).toBe(201)
        expect(await deploy(project)).toMatchObject(live)
        expect(await page(project)).toBe('pulled')
        expect(await named()).toHaveLength(1)
        expect((await remove(project)).status).toBe(200)
        await expect.poll(named).toEqual([])
      },
    )
  })

  test('a connection lost during a Dockerfile build is server_unreachable, leaves nothing, and allows another deployment', async ({
    expect,
  }) => {
    const mark = newMark()
    const slow = dockerfile(`ENV MARK=${mark}`, 'RUN echo half-way; sleep 5; touch /whole')
    const project = await make('cut', { Dockerfile: slow, 'server.js': answering(`'whole'`) })
    const id = await hosting.deploy(project.id)
    await expect.poll(async () => logOf(await hosting.deployment(id))).toContain('"half-way')
    const containers = async () => (await listHolding(mark)).filter((line) => line.startsWith('container'))
    expect(await containers()).toHaveLength(1)
    await sshd.stop()
    const failed = await hosting.settled(id)
    await sshd.start()
    expect(failed).toMatchObject({ status: 'failed', error: { code: 'server_unreachable' } })
    await expect.poll(async () => [...(await onServer(failed)), ...(await containers())]).toEqual([])
    expect(await deploy(project)).toMatchObject(live)
    expect(await page(project)).toBe('whole')
    expect((await remove(project)).status).toBe(200)
    await expect.poll(() => listHolding(mark)).toEqual([])
  })
})
