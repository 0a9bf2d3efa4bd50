import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openEngine } from '../../packages/server/src/drivers/runtime/docker/engine.ts'
import { type ForeignStack, startForeignStack } from '../kit/foreign-stack.ts'
import { type Hosting, startHosting } from '../kit/hosting.ts'
import { partOf } from '../kit/machine.ts'
import { describeOnDocker, listOnServer } from '../kit/runtimes.ts'
import { addServerBox, type ServerBox } from '../kit/server-box.ts'

const stackName = `tko${randomBytes(3).toString('hex')}`
/** Adds a line to its volume at every start, and takes its time to end and to serve: there is a middle to be cut in. */
const slowly = `const fs=require('fs');fs.appendFileSync('/data/rows','start\\n');
process.on('SIGTERM',()=>setTimeout(()=>process.exit(),1500));
setTimeout(()=>require('http').createServer((q,r)=>r.end(fs.readFileSync('/data/rows'))).listen(8080),1500)`

describeOnDocker('taking over containers of a server', () => {
  let hosting: Hosting
  let box: ServerBox
  let stack: ForeignStack
  const engine = openEngine(partOf('docker'))
  const volumes: string[] = []
  beforeAll(async () => {
    hosting = await startHosting({ env: { BERTH_SERVER_WAIT_SECONDS: '3', BERTH_JOB_LEASE_SECONDS: '1' } })
    box = await addServerBox(hosting)
    stack = await startForeignStack(stackName)
  })
  afterAll(async () => {
    await box?.[Symbol.asyncDispose]()
    await hosting?.[Symbol.asyncDispose]()
    await stack?.[Symbol.asyncDispose]()
    for (const name of volumes) await engine.getVolume(name).remove()
  })

  /** A container with a volume of its own that requests can be sent to, adopted. */
  const adopted = async (name: string, more: object = {}) => {
    const container = `${stackName}-${name}`
    volumes.push(`${container}-data`)
    await stack.byHand(container, {
      Cmd: ['node', '-e', slowly],
      ExposedPorts: { '8080/tcp': {} },
      HostConfig: { Binds: [`${container}-data:/data`], RestartPolicy: { Name: 'always' } },
      ...more,
    })
    const body = { serverId: box.serverId, projectName: name, serviceNames: [container] }
    const answer = await hosting.api('POST', '/migration/adopt', body)
    expect(answer.status, JSON.stringify(answer.body)).toBe(201)
    return { container, project: answer.body.project as { id: string; slug: string }, warnings: answer.body.warnings as string[] }
  }
  const stateOf = async (container: string) => {
    const { State, HostConfig } = await stack.inspect(container)
    return [State.Running, HostConfig.RestartPolicy?.Name]
  }
  const isLive = { status: 'live', error: null }
  const rowsOf = async ({ slug }: { slug: string }) => (await hosting.get(`${slug}.localhost`)).text

  test('an image whose tag moved to a newer image is kept by its id and runs', async () => {
    const tag = `${stackName}/app:1`
    const [repo, version] = tag.split(':') as [string, string]
    await engine.getImage(partOf('nodeImage')).tag({ repo, tag: version })
    const { project, warnings } = await adopted('nameless', { Image: tag }).then(async (first) => {
      // The tag moves to another image after the container was created; the running image is adopted.
      await hosting.api('DELETE', `/projects/${first.project.id}`)
      await engine.getImage(partOf('busyboxImage')).tag({ repo, tag: version })
      const body = { serverId: box.serverId, projectName: 'nameless', serviceNames: [first.container] }
      return (await hosting.api('POST', '/migration/adopt', body)).body
    })
    await engine.getImage(tag).remove()
    expect(warnings.join()).toContain('now refers to another image on the server')
    expect(await hosting.settled(await hosting.deploy(project.id))).toMatchObject(isLive)
    expect(await rowsOf(project)).toBe('start\nstart\n')
  })

  test.each(['Stopping the container', 'Starting'])(
    'kill -9 after the line "%s": the take-over continues, and exactly one container runs',
    async (line) => {
      const { container, project } = await adopted(`killed-${line.split(' ')[0]?.toLowerCase()}`)
      const id = await hosting.deploy(project.id)
      const output = async () => JSON.stringify((await hosting.api('GET', `/deployments/${id}/logs`)).body)
      while (!(await output()).includes(line)) await pause(20)
      await hosting.berth.kill9()
      await hosting.berth.restart()
      expect(await hosting.settled(id)).toMatchObject(isLive)
      await expect.poll(() => rowsOf(project)).toBe('start\nstart\n')
      await expect.poll(() => stateOf(container)).toEqual([false, 'no'])
      expect(
        (await listOnServer(hosting.berth.dataFolder, box.serverId)).filter((one) => one.includes(`instance ${id}`)),
      ).toEqual([`container instance ${id} running`])
    },
  )

  test('if the server becomes unreachable during a take-over, the deployment fails with a message, and the old container runs again when the server is back', async () => {
    const { container, project } = await adopted('lost')
    const id = await hosting.deploy(project.id)
    await expect.poll(() => stateOf(container), { interval: 20 }).toEqual([false, 'no'])
    box.link.cut('reset')
    const failed = await hosting.settled(id)
    expect(failed).toMatchObject({ status: 'failed', error: { code: 'server_unreachable' } })
    expect(await stateOf(container)).toEqual([false, 'no'])
    box.link.mend()
    await expect.poll(() => stateOf(container)).toEqual([true, 'always'])
    expect((await listOnServer(hosting.berth.dataFolder, box.serverId)).filter((one) => one.includes(`instance ${id}`))).toEqual(
      [],
    )
  })
})
