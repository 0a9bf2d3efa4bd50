import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { DiscoveredService, Stack } from '@berth/contract'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openPage, signIn } from '../kit/browser-page.ts'
import { launchChromium } from '../kit/chromium.ts'
import { type ForeignStack, startForeignStack } from '../kit/foreign-stack.ts'
import { type Hosting, ownerSignIn, startHosting } from '../kit/hosting.ts'
import { need, partOf } from '../kit/machine.ts'
import { describeOnDocker, serverRemover } from '../kit/runtimes.ts'
import { type Sshd, startSshd } from '../kit/sshd.ts'
import { addServerInBrowser, adoptInBrowser, deployInBrowser, kiosk } from './adopt-in-browser.ts'

const stackName = `old${randomBytes(3).toString('hex')}`
const idle = "process.on('SIGTERM',()=>process.exit());setInterval(()=>{},1e3)"
/** Service name with the stack's name: another test's stack on the same engine has services of the same names. */
const inStack = (service: string) => `${stackName}/${service}`
const shop = ['web', 'api', 'db', 'cache'].map(inStack)
const handNames = { idle: `${stackName}-idle`, sick: `${stackName}-sick`, host: `${stackName}-host` }

describeOnDocker('adopting containers of a server', () => {
  let hosting: Hosting
  let sshd: Sshd
  let stack: ForeignStack
  let server: Record<string, unknown>
  let serverId: string
  let browsedServerId: string | undefined
  beforeAll(async () => {
    sshd = await startSshd(partOf('sshd'))
    hosting = await startHosting({ env: { BERTH_SERVER_WAIT_SECONDS: '15', BERTH_JOB_LEASE_SECONDS: '1' } })
    stack = await startForeignStack(stackName)
    const { host, port, user, privateKey } = sshd
    server = { name: 'old box', host, port, user, privateKey, dockerSocket: partOf('docker') }
    serverId = await addServer()
    await stack.byHand(handNames.idle, { Cmd: ['node', '-e', ''] }, false)
    await stack.byHand(handNames.host, { Cmd: ['node', '-e', idle], HostConfig: { NetworkMode: 'host' } })
    await stack.byHand(handNames.sick, {
      Cmd: ['node', '-e', idle],
      Healthcheck: { Test: ['CMD', 'false'], Interval: 1e9, Timeout: 1e9, Retries: 1 },
      HostConfig: { Binds: [`${stack.folder}/site:/site`], RestartPolicy: { Name: 'on-failure', MaximumRetryCount: 3 } },
    })
  })
  afterAll(async () => {
    const removers = hosting
      ? [serverId, browsedServerId].flatMap((id) => (id ? [serverRemover(hosting.berth.dataFolder, id)] : []))
      : []
    await sshd?.start()
    await hosting?.[Symbol.asyncDispose]()
    for (const remove of removers) await remove()
    await stack?.[Symbol.asyncDispose]()
    await sshd?.[Symbol.asyncDispose]()
  })

  const addServer = async (more: object = {}): Promise<string> =>
    (await hosting.api('POST', '/servers', { ...server, ...more })).body.data.id
  const scan = (id = serverId) => hosting.api('POST', '/migration/scan', { serverId: id })
  const scanned = async (): Promise<Stack> => {
    const { status, body } = await scan()
    expect(status, JSON.stringify(body)).toBe(200)
    return body.stack
  }
  const adopt = (projectName: string, serviceNames: string[]) =>
    hosting.api('POST', '/migration/adopt', { serverId, projectName, serviceNames })
  const isRunning = async (container: string) => (await stack.inspect(container)).State.Running
  const startOf = async (container: string) => (await stack.inspect(container)).State.StartedAt

  test('a scan is complete, and a scan and an adoption change no container', async () => {
    const before = await stack.inspectAll()
    const found = await scanned()
    const project = found.composeProjects.find(({ name }) => name === stackName)
    expect(project).toMatchObject({ workingDir: stack.folder, configFiles: [join(stack.folder, 'compose.yaml')] })
    expect(project?.services.map(({ name }) => name).sort()).toEqual(['api', 'cache', 'db', 'later', 'web', 'worker'])
    const drifted = project?.services.filter(({ drift }) => drift.length > 0).map(({ name, drift }) => [name, drift])
    expect(drifted).toEqual([['worker', ['restart']]])
    const service = (name: string) => project?.services.find((one) => one.name === name) as DiscoveredService
    expect(service('web')).toMatchObject({ dependsOn: ['api'], volumes: [{ type: 'bind' }, { type: 'bind' }] })
    expect(service('db').volumes).toMatchObject([{ type: 'volume', source: stack.volume('data'), target: '/data' }])
    expect(service('api').env).toEqual({ API_TOKEN: '••••••••' })
    const byHand = found.containers.filter(({ name }) => name.startsWith(stackName))
    expect(byHand.map(({ name, state, adoptable }) => [name, state, adoptable]).sort()).toEqual([
      [handNames.host, 'running', false],
      [handNames.idle, 'created', true],
      [handNames.sick, 'running', true],
    ])
    const plan = await hosting.api('POST', '/migration/adopt?plan=true', {
      serverId,
      projectName: 'x',
      serviceNames: [inStack('db')],
    })
    expect([plan.status, plan.body.project]).toEqual([200, null])
    const { status, body } = await adopt('Shop', shop)
    expect(status, JSON.stringify(body)).toBe(201)
    expect(JSON.stringify([found, body])).not.toContain('canary')
    expect(await stack.inspectAll()).toEqual(before)
    // Deleting a project that was never deployed changes nothing there either, and the containers can still be adopted.
    expect((await hosting.api('DELETE', `/projects/${body.project.id}?deleteVolumes=true`)).status).toBe(200)
    expect(await stack.inspectAll()).toEqual(before)
  })

  test('the deployment after an adoption keeps the data and stops the old containers without removing them; other containers are untouched', async () => {
    const { project } = (await adopt('Shop again', shop)).body
    const others = [`${stackName}-worker-1`, handNames.host, handNames.sick]
    const before = await Promise.all(others.map(startOf))
    const deployment = await hosting.settled(
      await hosting.deploy(project.id),
      ({ status, steps }) =>
        status === 'failed' || steps.some(({ name, status: done }) => name === 'take over' && done === 'succeeded'),
    )
    expect(deployment).toMatchObject({ status: 'live', error: null })
    expect((await hosting.get(`${project.slug}.localhost`)).text).toBe('the site of the day canary-token start\nstart\n')
    for (const one of ['web', 'api', 'db', 'cache']) {
      const { State, HostConfig } = await stack.inspect(`${stackName}-${one}-1`)
      expect([one, State.Running, HostConfig.RestartPolicy?.Name]).toEqual([one, false, 'no'])
    }
    expect(await Promise.all(others.map(startOf))).toEqual(before)
    // Deleting the project keeps the data that it adopted.
    expect((await hosting.api('DELETE', `/projects/${project.id}?deleteVolumes=true`)).status).toBe(200)
    expect(existsSync(join(stack.folder, 'motd'))).toBe(true)
    expect((await scanned()).volumes.map(({ name }) => name)).toContain(stack.volume('data'))
  })

  test('a first deployment that fails restarts the old container with its old settings', async () => {
    const before = await stack.inspect(handNames.sick)
    const { body } = await adopt('Sick', [handNames.sick])
    const failed = await hosting.settled(await hosting.deploy(body.project.id))
    expect(failed.status).toBe('failed')
    await expect.poll(() => isRunning(handNames.sick)).toBe(true)
    const after = await stack.inspect(handNames.sick)
    expect(after.HostConfig).toEqual(before.HostConfig)
    expect(after.State.StartedAt).not.toBe(before.State.StartedAt)
  })

  test('in the dashboard a server is added, checked and scanned, and a service is adopted and deployed', async () => {
    const name = `${stackName}-kiosk`
    await stack.byHand(name, kiosk(stack.folder))
    await using browser = await launchChromium(need('chromium'))
    await using opened = await openPage(browser, { url: hosting.berth.url, viewport: { width: 1280, height: 900 } })
    const { page, problems } = opened
    await signIn(page, ownerSignIn)
    browsedServerId = await addServerInBrowser(page, sshd)
    await page.getByRole('button', { name: 'Scan' }).click()
    await page.getByRole('region', { name: stackName, exact: true }).getByText('differs in restart').first().waitFor()
    const projectId = await adoptInBrowser(page, { service: name, projectName: 'Kiosk', isUntouched: () => isRunning(name) })
    await deployInBrowser(page)
    expect((await hosting.get('kiosk.localhost')).text).toBe('the site')
    await expect.poll(() => isRunning(name)).toBe(false)
    expect(problems).toEqual([])
    expect((await hosting.api('DELETE', `/projects/${projectId}`)).status).toBe(200)
  })

  const reason = async (more: object) => {
    const { status, body } = await scan(await addServer(more))
    return [status, body.error]
  }

  test('returns 502 for a user outside the docker group', async ({ skip }) => {
    if (process.getuid?.() !== 0) skip('only root can let another user in')
    await using open = await startSshd(partOf('sshd'), { forAllUsers: true })
    const withoutDocker = { port: open.port, privateKey: open.privateKey, user: 'nobody' }
    expect(await reason(withoutDocker)).toEqual([502, expect.stringMatching(/has no access to Docker.*group/)])
  })

  test('returns 502 with a different error for each reason', async () => {
    const wrongKey = await startSshd(partOf('sshd'))
    await wrongKey[Symbol.asyncDispose]()
    expect(await reason({ privateKey: wrongKey.privateKey })).toEqual([502, expect.stringMatching(/login|key|password/i)])
    expect(await reason({ dockerSocket: '/nowhere/docker.sock' })).toEqual([502, expect.stringMatching(/Docker/)])
    expect(await reason({ port: wrongKey.port })).toEqual([502, expect.stringMatching(/nothing listens|refused/i)])
    await sshd.swapHostKey()
    const changed = await scan()
    expect([changed.status, changed.body.error]).toEqual([502, expect.stringContaining(await sshd.fingerprint())])
    expect((await hosting.api('PATCH', `/servers/${serverId}`, { hostKey: null })).status).toBe(200)
    await sshd.stop()
    expect((await scan()).status).toBe(502)
    await sshd.start()
    await expect.poll(async () => (await scan()).status).toBe(200)
  })

  test('berth migrate shows services, a plan and an adoption, and accepts the name of the server', async () => {
    const login = ['login', '--email', ownerSignIn.email, '--password-stdin']
    expect(await hosting.cli(login, { input: ownerSignIn.password })).toMatchObject({ code: 0 })
    await addServer({ name: 'named box' })
    const shown = await hosting.cli(['migrate', 'scan', 'named box'])
    expect(shown.stdout.split('\n')[0]).toMatch(/^STACK\s+SERVICE\s+IMAGE\s+STATE\s+PORTS\s+VOLUMES\s+DRIFT\s+ADOPTABLE$/)
    expect(shown.stdout).toMatch(new RegExp(`${stackName}\\s+worker\\s+\\S+\\s+running\\s+-\\s+-\\s+restart\\s+yes`))
    const plan = await hosting.cli(['migrate', 'adopt', 'named box', inStack('worker'), '--name', 'Work', '--plan'])
    expect(plan.stdout).toMatch(/Dry run: the project would have the services worker\.[\s\S]*A deployment will:\n\s+1\. /)
    const adopted = await hosting.cli(['migrate', 'adopt', 'named box', inStack('worker'), '--name', 'Work'])
    expect([adopted.code, adopted.stdout]).toEqual([0, expect.stringMatching(/^Created project work \(prj_\w+\) from worker\./)])
  })

  test('a scan of a hostile server ends, runs no command and returns no terminal control characters', async () => {
    const folder = join(stack.folder, 'bomb')
    await mkdir(folder)
    const proof = join(stack.folder, 'ran')
    const bad = `$(touch ${proof});\`touch ${proof}\`\u001b[2J\u202e`
    const laughs = [
      'a: &a [x,x,x,x,x,x,x,x,x]',
      ...'bcdefghi'.split('').map((at, n) => `${at}: &${at} [${Array(9).fill(`*${'abcdefgh'[n]}`)}]`),
    ]
    await writeFile(join(folder, 'compose.yaml'), [...laughs, 'services: { x: { image: x, labels: *i } }'].join('\n'))
    const labels = {
      'com.docker.compose.project': `--help ${bad}`,
      'com.docker.compose.service': `-rf ${bad}`,
      'com.docker.compose.project.working_dir': folder,
      'com.docker.compose.project.config_files': join(folder, 'compose.yaml'),
    }
    const bomb = await stack.byHand(
      `${stackName}-bomb`,
      { Labels: { ...labels, [bad]: bad }, Env: [`A=${bad}`, `${bad}=1`] },
      false,
    )
    const huge = await stack.byHand(`${stackName}-huge`, { Labels: { huge: 'x'.repeat(6_000_000) } }, false)
    const found = await scanned()
    expect(found.composeProjects.find(({ services }) => services.some((one) => one.containerId === bomb))?.fileState).toBe(
      'unreadable',
    )
    expect(found.warnings.join()).toContain(huge.slice(0, 12))
    expect(JSON.stringify(found)).not.toMatch(/\\u001b|\u202e/)
    expect(existsSync(proof)).toBe(false)
  })
})
