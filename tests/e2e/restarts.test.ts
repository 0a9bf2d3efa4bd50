import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Project, ServiceStatus } from '@berth/contract'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openEngine } from '../../packages/server/src/drivers/runtime/docker/engine.ts'
import { type Hosting, startHosting } from '../kit/hosting.ts'
import { partOf } from '../kit/machine.ts'
import { describeOnDocker } from '../kit/runtimes.ts'

const mirror = () => partOf('nodeImage').split('/')[0] as string

/** Responds, and exits on request; `START` is the code it runs first. */
const program = `console.log('start-up code')
eval(process.env.START ?? '')
require('node:http').createServer((request, response) => {
  if (request.url === '/crash') process.exit(9)
  if (request.url === '/crash-others') for (const name of process.env.OTHERS.split(' ')) fetch('http://' + name + ':3000/crash').catch(() => {})
  response.end('here')
}).listen(3000)
`
const others = Array.from({ length: 7 }, (_, at) => `s${at}`)
const file = (start: string) => `services:
  web: { build: ., ports: ["80:3000"], restart: always, environment: { OTHERS: "${others.join(' ')}", START: "${start}" } }
${others.map((name) => `  ${name}: { build: ., expose: [3000]${name === 's0' ? '' : ', restart: always'} }`).join('\n')}
`

describeOnDocker('services that exit', () => {
  let hosting: Hosting
  let project: Project
  let folder: string
  beforeAll(async () => {
    hosting = await startHosting({
      runtime: 'docker',
      env: { BERTH_IMAGE_MIRROR: mirror(), BERTH_JOB_LEASE_SECONDS: '1', BERTH_NETWORK_RANGE: '10.211.0.0/20' },
    })
    folder = join(hosting.folder, 'eight')
    await mkdir(folder)
    await writeFile(join(folder, 'Dockerfile'), 'FROM node:24\nCOPY server.js .\nCMD ["node", "server.js"]\n')
    await writeFile(join(folder, 'server.js'), program)
    await writeFile(join(folder, 'compose.yaml'), file(''))
    project = await hosting.makeProject({ name: 'eight', localPath: folder, type: 'services' })
  })
  afterAll(() => hosting?.[Symbol.asyncDispose]())

  const record = async (): Promise<Project> => (await hosting.api('GET', `/projects/${project.id}`)).body.data
  /** Crashes a service without the control plane, through a program in the web service's container. */
  const crashAside = async (name: string) => {
    const engine = openEngine(partOf('docker'))
    const label = [`berth.project=${project.id}`, 'berth.service=web']
    const [web] = await engine.listContainers({ filters: { label } })
    const text = `fetch('http://${name}:3000/crash').catch(() => {})`
    const exec = await engine.getContainer(web?.Id ?? '').exec({ Cmd: ['node', '-e', text] })
    await exec.start({ Detach: true })
    const [other] = await engine.listContainers({ filters: { label: [label[0] as string, `berth.service=${name}`] } })
    const restarts = async () => (await engine.getContainer(other?.Id ?? '').inspect()).RestartCount
    await expect.poll(restarts).toBe(2)
  }
  const service = async (name: string): Promise<ServiceStatus> =>
    (await record()).services?.find((one) => one.name === name) as ServiceStatus

  test('eight services go live, and each exit is recorded', async () => {
    const deployed = await hosting.settled(await hosting.deploy(project.id))
    expect(deployed).toMatchObject({ status: 'live', error: null, image: expect.stringMatching(/\.web$/) })
    await hosting.get(`${project.slug}.localhost`, '/crash-others')
    const lastExit = { code: 9, reason: 'exit' }
    // Without a restart policy it stays exited, as in Compose.
    await expect.poll(() => service('s0')).toMatchObject({ status: 'exited', restarts: 0, lastExit })
    await expect.poll(() => service('s6')).toMatchObject({ restarts: 1, lastExit })
    expect(await service('web')).toMatchObject({ status: 'running', restarts: 0, lastExit: null })
  })

  test('an exit while the control plane was down is recorded after its restart', async () => {
    await hosting.berth.kill9()
    await crashAside('s6')
    await hosting.berth.restart()
    await expect.poll(() => service('s6')).toMatchObject({ restarts: 2, lastExit: { at: expect.any(String) } })
    await expect.poll(async () => (await hosting.get(`${project.slug}.localhost`)).text).toBe('here')
  })

  test('a new version that crashes at start is started once, and the old version keeps serving', async () => {
    await writeFile(join(folder, 'compose.yaml'), file('process.exit(3)'))
    const failed = await hosting.settled(await hosting.deploy(project.id))
    expect(failed).toMatchObject({ status: 'failed', error: { code: 'crashed' } })
    expect(failed.error?.message).toContain('The service web exited with code 3')
    expect(failed.error?.logTail.filter((line) => line === 'start-up code')).toHaveLength(1)
    expect((await hosting.get(`${project.slug}.localhost`)).text).toBe('here')
  })
})
