import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { partOf } from '../../../../../../tests/kit/machine.ts'
import { describeOnSwarm, startSwarm, type TestSwarm } from '../../../../../../tests/kit/swarm.ts'
import { type TempFolder, tempFolder } from '../../../../../../tests/kit/temp-folder.ts'
import { readIdentity } from '../docker/identity.ts'
import { removeEverythingOf } from '../docker/remove-everything.ts'
import { containerName } from '../docker/run/container-settings.ts'
import type { Instance, Runtime, StartRequest } from '../runtime.ts'
import { createSwarmRuntime } from './swarm-runtime.ts'

const never = new AbortController().signal
const page = `require('node:http').createServer((_, response) => response.end('here')).listen(process.env.PORT)`
const asking = (url: string) =>
  `fetch(${JSON.stringify(url)}, { signal: AbortSignal.timeout(3000) }).then(() => console.log('reached'), () => console.log('refused'))`

describeOnSwarm('projects in a swarm', () => {
  let swarm: TestSwarm
  let folder: TempFolder
  let runtime: Runtime
  const seed = randomBytes(4).toString('hex')
  let count = 0
  const open = () => createSwarmRuntime({ socketPath: swarm.socketPath, folder: folder.path, imageMirror: null })
  beforeAll(async () => {
    swarm = await startSwarm()
    folder = await tempFolder('swarm-runtime')
    runtime = open()
  })
  afterAll(async () => {
    await runtime?.close()
    await swarm?.[Symbol.asyncDispose]()
    await folder?.remove()
  })

  const request = (changes: Partial<StartRequest> = {}): StartRequest => ({
    instanceId: `ins_${seed}${count++}`,
    owner: { projectId: `prj_${seed}`, deploymentId: `dep_${seed}`, environment: 'production' },
    service: '',
    artifact: { kind: 'image', reference: partOf('nodeImage'), sizeBytes: 0, startCommand: null },
    command: ['node', '-e', page],
    entrypoint: null,
    env: {},
    port: 3000,
    volumes: [],
    network: null,
    resources: { cpuCores: 0.5, memoryMb: 128, diskMb: 500 },
    restart: false,
    ...changes,
  })
  const start = (changes: Partial<StartRequest> = {}) => runtime.start(request(changes), never)
  const stop = (instanceId: string) => runtime.stop(instanceId, { graceSeconds: 0 }, never)
  const run = async (instanceId: string, argv: string[], env: Record<string, string> = {}) => {
    const chunks: Uint8Array[] = []
    await runtime.exec(instanceId, { argv, env, onStdout: (chunk) => void chunks.push(Buffer.from(chunk)) }, never)
    return Buffer.concat(chunks).toString().trim()
  }
  const answers = async ({ address }: Instance) =>
    (await fetch(`http://${address?.host}:${address?.port}/`, { signal: AbortSignal.timeout(5_000) })).text()
  /** Everything that managers of the swarm and users of the engine can read about instances. */
  const visible = async () => {
    const [services, tasks, containers] = await Promise.all([
      swarm.engine.listServices(),
      swarm.engine.listTasks(),
      swarm.engine.listContainers({ all: true }),
    ])
    const inspected = await Promise.all(containers.map(({ Id }) => swarm.engine.getContainer(Id).inspect()))
    return JSON.stringify([services, tasks, inspected])
  }
  const secretsOf = async () => (await swarm.engine.listSecrets()).filter(({ Spec }) => Spec?.Name?.startsWith('berth-')).length

  test('values of variables reach the program, its health check and commands, and are in no specification', async () => {
    const value = `canary-${seed} 'quoted' $HOME`
    const healthProgram = {
      argv: ['node', '-e', 'process.exit(process.env.TOKEN ? 0 : 1)'],
      timeoutSeconds: 5,
      withinSeconds: 60,
      intervalSeconds: 1,
    }
    const command = ['node', '-e', `console.log(process.env.TOKEN); ${page}`]
    const { instanceId } = await start({ env: { TOKEN: value }, command, healthProgram })
    await expect.poll(async () => (await runtime.inspect(instanceId))?.health?.status).toBe('healthy')
    const { health, program } = (await runtime.inspect(instanceId)) as Instance
    expect(health?.program.argv).toEqual(healthProgram.argv)
    expect(program).toBe('node')
    const lines: string[] = []
    for await (const { message } of runtime.logs(instanceId, null, never, { follow: false })) lines.push(message)
    expect(lines).toEqual([value])
    expect(await run(instanceId, ['node', '-p', 'process.env.TOKEN'])).toBe(value)
    expect(await run(instanceId, ['node', '-p', 'process.env.TOKEN'], { TOKEN: 'own' })).toBe('own')
    expect(await visible()).not.toContain(`canary-${seed}`)
    await stop(instanceId)
    expect(await secretsOf()).toBe(0)
  })

  test('without a shell in the image, variables are in the specification, because no secret can carry them', async () => {
    const from = swarm.engine
    const busybox = await from.createContainer({ Image: partOf('nodeImage'), Cmd: ['never'] })
    const archive = (await busybox.getArchive({ path: '/bin/busybox' })) as unknown as AsyncIterable<Buffer>
    const stream = await from.importImage(Readable.from(archive), { repo: 'berth-test/no-shell', tag: '1' })
    stream.resume()
    await once(stream, 'end')
    await busybox.remove()
    const artifact = { kind: 'image' as const, reference: 'berth-test/no-shell:1', sizeBytes: 0, startCommand: null }
    const { instanceId } = await start({ artifact, command: ['/busybox', 'env'], env: { TOKEN: `plain-${seed}` }, port: null })
    await expect.poll(async () => (await runtime.inspect(instanceId))?.state).toBe('exited')
    const lines: string[] = []
    for await (const { message } of runtime.logs(instanceId, null, never)) lines.push(message)
    expect(lines).toContain(`TOKEN=plain-${seed}`)
    expect(await secretsOf()).toBe(0)
    await stop(instanceId)
  })

  test('ports are published on one address, and projects do not reach each other', async () => {
    const [one, other] = [await start(), await start()]
    await expect.poll(() => answers(one).catch(() => '')).toBe('here')
    expect(one.address?.host).toBe(swarm.address)
    const filters = { label: [`berth.id=${other.instanceId}`] }
    const [row] = await swarm.engine.listContainers({ filters })
    expect(row?.Ports.map(({ IP }) => IP)).toEqual([swarm.address])
    const [address] = Object.values(row?.NetworkSettings.Networks ?? {}).map(({ IPAddress }) => IPAddress)
    expect(address).toMatch(/^\d+\./)
    expect(await run(one.instanceId, ['node', '-e', asking(`http://${address}:3000/`)])).toBe('refused')
    for (const { instanceId } of [one, other]) await stop(instanceId)
  })

  test('a project of several services and a link are refused with what to do', async () => {
    const network = { name: 'net', aliases: ['web'] }
    await expect(start({ network })).rejects.toThrow('Set BERTH_RUNTIME to docker')
    await expect(start({ links: [{ name: 'link', aliases: ['db'] }] })).rejects.toThrow('Set BERTH_RUNTIME to docker')
    expect(runtime.refusesServices).toContain('Set BERTH_RUNTIME to docker')
    expect(runtime.joinLink).toBeUndefined()
  })

  test('two starts of one instance at once run one program', async () => {
    const wanted = request({ env: { TOKEN: 'x' } })
    const both = await Promise.allSettled([runtime.start(wanted, never), runtime.start(wanted, never)])
    expect(both.some(({ status }) => status === 'fulfilled')).toBe(true)
    const filters = { label: [`berth.id=${wanted.instanceId}`], status: ['running'] }
    await expect.poll(async () => (await swarm.engine.listContainers({ filters })).length).toBe(1)
    expect(await run(wanted.instanceId, ['node', '-p', 'process.env.TOKEN'])).toBe('x')
    await stop(wanted.instanceId)
  })

  test('an instance that ended while no control plane ran is restarted by the next one', async () => {
    const { instanceId } = await start({ restart: true })
    await runtime.close()
    const filters = { label: [`berth.id=${instanceId}`] }
    const [row] = await swarm.engine.listContainers({ filters })
    await swarm.engine.getContainer(row?.Id ?? '').kill()
    runtime = open()
    const changes: string[] = []
    runtime.onChange(({ kind }) => changes.push(kind))
    await expect.poll(async () => (await runtime.inspect(instanceId))?.state).toBe('running')
    await expect.poll(() => changes).toContain('moved')
    expect(await runtime.inspect(instanceId)).toMatchObject({ restarts: 1, lastEnd: { exitCode: 137, reason: 'signal' } })
    await stop(instanceId)
  })

  test('an instance that is being stopped is not restarted by a control plane that starts meanwhile', async () => {
    const { instanceId } = await start({ restart: true })
    await swarm.engine.getService(containerName(instanceId)).inspect()
    // As after a kill of the control plane between the end of the program and its removal.
    const removing = runtime.stop(instanceId, { graceSeconds: 0 }, never)
    const next = open()
    next.onChange(() => undefined)
    await removing
    expect(await next.inspect(instanceId)).toBeUndefined()
    await next.close()
    const filters = { label: [`berth.id=${instanceId}`] }
    expect(await swarm.engine.listContainers({ all: true, filters })).toEqual([])
  })

  test('secrets of a start that was killed are removed by the next control plane', async () => {
    const { instance } = readIdentity(folder.path)
    const Labels = { 'berth.instance': instance, 'berth.kind': 'secret', 'berth.id': 'ins_lost' }
    await swarm.engine.createSecret({ Name: 'berth-ins_lost-0', Labels, Data: Buffer.from('x').toString('base64') })
    await swarm.engine.createSecret({ Name: `other-${seed}`, Data: Buffer.from('x').toString('base64') })
    await runtime.close()
    runtime = open()
    const { instanceId } = await start()
    expect((await swarm.engine.listSecrets()).map(({ Spec }) => Spec?.Name)).toEqual([`other-${seed}`])
    await stop(instanceId)
  })

  test('nothing of a Berth is left in the swarm after its removal', async () => {
    await start({ env: { TOKEN: 'x' } })
    await runtime.close()
    await removeEverythingOf(readIdentity(folder.path).instance, swarm.socketPath)
    expect(await swarm.engine.listServices()).toEqual([])
    expect((await swarm.engine.listSecrets()).filter(({ Spec }) => Spec?.Name?.startsWith('berth-'))).toEqual([])
    const own = (await swarm.engine.listNetworks()).filter(({ Name }) => Name.startsWith('berth-'))
    expect(own).toEqual([])
    runtime = open()
  })

  test('a running instance is started again after a restart of its engine', async () => {
    const one = await start({ restart: true })
    runtime.onChange(() => undefined)
    await swarm.restart()
    await expect.poll(async () => (await runtime.inspect(one.instanceId).catch(() => undefined))?.state).toBe('running')
    const again = (await runtime.inspect(one.instanceId)) as Instance
    await expect.poll(() => answers(again).catch(() => '')).toBe('here')
    await stop(one.instanceId)
  })
})
