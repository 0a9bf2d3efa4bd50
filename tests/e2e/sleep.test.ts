import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Hosting, serving, startHosting, writeApp } from '../kit/hosting.ts'
import { describeOnRuntimes } from '../kit/runtimes.ts'

describeOnRuntimes('auto-sleep', (runtime) => {
  let hosting: Hosting
  beforeAll(async () => {
    hosting = await startHosting({ runtime, env: { BERTH_SLEEP_AFTER_SECONDS: '2' } })
  })
  afterAll(() => hosting?.[Symbol.asyncDispose]())

  const makeLive = async (name: string, sleepMode: string) => {
    const folder = join(hosting.folder, name)
    await writeApp(folder, serving(name, { afterMs: 300 }))
    const project = await hosting.makeProject({ name, localPath: folder, healthCheck: { path: '/' } })
    expect((await hosting.api('POST', `/projects/${project.id}/sleep-mode`, { sleepMode })).status).toBe(200)
    expect(await hosting.settled(await hosting.deploy(project.id))).toMatchObject({ status: 'live' })
    return project
  }
  const statusOf = async (id: string) => (await hosting.api('GET', `/projects/${id}`)).body.data.status
  const asleep = (id: string) => expect.poll(() => statusOf(id)).toBe('sleeping')

  test('the first request after sleep gets 200; always_on never sleeps', async () => {
    const [sleeper, awake] = await Promise.all([makeLive('sleeper', 'auto_sleep'), makeLive('awake', 'always_on')])
    await asleep(sleeper.id)
    expect(await hosting.get(`${sleeper.slug}.localhost`)).toMatchObject({ status: 200, text: 'sleeper' })
    expect(await statusOf(sleeper.id)).toBe('live')
    expect(await statusOf(awake.id)).toBe('live')
  })

  test('200 concurrent requests for a sleeping project all get 200, and it is started once', async () => {
    const project = await makeLive('crowd', 'auto_sleep')
    await asleep(project.id)
    const answers = await Promise.all(Array.from({ length: 200 }, () => hosting.get(`${project.slug}.localhost`)))
    expect(answers.map(({ status }) => status)).toEqual(Array(200).fill(200))
    const { body } = await hosting.api('GET', `/projects/${project.id}/deletion-preview`)
    expect(body.data.items.filter(({ kind }: { kind: string }) => kind === 'instance')).toHaveLength(1)
  })

  test('requests that arrive while the project falls asleep are served', async () => {
    const project = await makeLive('dozer', 'auto_sleep')
    let failed = 0
    // With requests two seconds apart, one of them arrives while the project falls asleep.
    for (let round = 0; round < 8; round++) {
      if ((await hosting.get(`${project.slug}.localhost`)).status !== 200) failed++
      await pause(1_700 + round * 120)
    }
    expect(failed).toBe(0)
  })
})
