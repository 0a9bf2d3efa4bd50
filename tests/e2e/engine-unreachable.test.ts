import { join } from 'node:path'
import type { Deployment, Project } from '@berth/contract'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Hosting, serving, startHosting, writeApp } from '../kit/hosting.ts'
import { partOf } from '../kit/machine.ts'
import { describeOnDocker, removeNetworkOf } from '../kit/runtimes.ts'
import { startWeakSocket, type WeakSocket } from '../kit/weak-socket.ts'

/** Longer than a check of an engine that is silent. */
const waitSeconds = 8

describeOnDocker('an unreachable Docker engine', () => {
  let hosting: Hosting
  let socket: WeakSocket
  let project: Project
  beforeAll(async () => {
    socket = await startWeakSocket(partOf('docker'))
    const env = { BERTH_DOCKER_SOCKET: socket.path, BERTH_SERVER_WAIT_SECONDS: String(waitSeconds) }
    hosting = await startHosting({ runtime: 'docker', env })
    const localPath = join(hosting.folder, 'app')
    await writeApp(localPath, serving('version 1'))
    const volumes = [{ name: 'data', mountPath: '/data' }]
    project = await hosting.makeProject({ name: 'app', localPath, startCommand: 'node server.js', volumes })
    expect(await hosting.settled(await hosting.deploy(project.id))).toMatchObject({ status: 'live', error: null })
  })
  afterAll(async () => {
    await socket?.mend()
    await hosting?.[Symbol.asyncDispose]()
    await socket?.[Symbol.asyncDispose]()
  })

  const page = async () => (await hosting.get(`${project.slug}.localhost`)).text
  const record = async (): Promise<Project> => (await hosting.api('GET', `/projects/${project.id}`)).body.data
  const logOf = async (id: string) => JSON.stringify((await hosting.api('GET', `/deployments/${id}/logs`)).body)
  const isWaiting = async (id: string) => (await logOf(id)).includes('Waiting for the Docker engine')
  /** Folders of this machine that no tenant may read. */
  const paths = () => [socket.path, hosting.berth.dataFolder, partOf('docker')]

  for (const manner of ['gone', 'silent'] as const) {
    test(`${manner}: a deployment waits for the engine and continues when it is back`, async () => {
      await writeApp(join(hosting.folder, 'app'), serving(`after ${manner}`))
      await socket.cut(manner)
      const id = await hosting.deploy(project.id)
      await expect.poll(() => isWaiting(id)).toBe(true)
      await socket.mend()
      expect(await hosting.settled(id)).toMatchObject({ status: 'live', error: null })
      expect(await page()).toBe(`after ${manner}`)
    })

    test(`${manner} for too long: engine_unreachable; previews and disable answer; no path of the machine is reported`, async () => {
      await socket.cut(manner)
      const read: unknown[] = []
      try {
        const failed: Deployment = await hosting.settled(await hosting.deploy(project.id))
        expect(failed).toMatchObject({ status: 'failed', error: { code: 'engine_unreachable' } })
        const [preview, disabled] = await Promise.all([
          inTime(hosting.api('GET', `/projects/${project.id}/deletion-preview`)),
          inTime(hosting.api('POST', `/projects/${project.id}/disable`)),
        ])
        const kinds = (preview.body.data?.items ?? []).map(({ kind }: { kind: string }) => kind)
        expect({ status: preview.status, kinds }).toMatchObject({
          kinds: expect.arrayContaining(['image', 'volume']),
          status: 200,
        })
        expect([disabled.status, disabled.body.error]).toEqual([503, expect.stringContaining('Docker engine')])
        expect(await record()).toMatchObject({ enabled: true })
        const notifications = await hosting.api('GET', '/notifications/deliveries')
        read.push(failed, preview, disabled, await logOf(failed.id), await record(), notifications)
      } finally {
        await socket.mend()
      }
      for (const path of paths()) expect(JSON.stringify(read)).not.toContain(path)
      await expect.poll(async () => (await record()).status).toBe('live')
      expect(await page()).toMatch(/^after /)
      expect((await hosting.api('POST', `/projects/${project.id}/disable`)).status).toBe(200)
      expect((await hosting.api('POST', `/projects/${project.id}/enable`)).status).toBe(200)
      await expect.poll(page).toMatch(/^after /)
    })
  }

  test('a project whose network was removed by hand is restarted on a new network', async () => {
    await removeNetworkOf(project.id)
    await expect.poll(page).toMatch(/^after /)
    expect(await record()).toMatchObject({ enabled: true, status: 'live' })
  })
})

/** The longest that a client would wait for an answer. */
const answerMs = 45_000

const inTime = <T>(answer: Promise<T>): Promise<T> =>
  Promise.race([
    answer,
    new Promise<T>((_, reject) => setTimeout(() => reject(new Error(`no answer within ${answerMs} ms`)), answerMs)),
  ])
