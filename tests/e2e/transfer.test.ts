import { afterAll, beforeAll, expect, test } from 'vitest'
import { endOf, startTwoHostings, type TwoHostings } from '../kit/two-hostings.ts'

let sides: TwoHostings
beforeAll(async () => {
  sides = await startTwoHostings({ BERTH_JOB_LEASE_SECONDS: '1' })
})
afterAll(() => sides?.[Symbol.asyncDispose]())

test('a project is transferred to the cloud and back with the same data, variables, rules and id, and serves on both', async () => {
  const { here } = sides
  const project = await sides.makeKeeper('traveller')
  const [id, slug] = [project.id, project.slug]
  const first = await sides.fill('here', slug, 6_000_000)
  const rules = async () => {
    const { data } = (await here.api('GET', `/projects/${id}/route-rules`)).body
    return data.map(({ kind, config }: { kind: string; config: object }) => ({ kind, config }))
  }
  const before = await rules()

  const moved = await sides.move(id, 'cloud')
  const warnings = [expect.stringContaining('edge rule ban')]
  expect(moved).toEqual({ status: 200, body: { data: { projectId: id, location: 'cloud' }, warnings } })
  const there = await sides.answerOf('cloud', slug)
  expect(there?.secret).toBe('of traveller')
  expect(Object.values(there?.files ?? {})).toEqual([first])
  expect(await sides.answerOf('here', slug)).toBeUndefined()
  expect((await here.api('GET', `/projects/${id}`)).body.data).toMatchObject({ id, location: 'cloud', status: 'live' })

  const second = await sides.fill('cloud', slug, 1_000_000)
  expect(await sides.move(id, 'here')).toEqual({
    status: 200,
    body: { data: { projectId: id, location: 'local' }, warnings: [] },
  })
  const back = await sides.answerOf('here', slug)
  expect(Object.values(back?.files ?? {}).sort()).toEqual([first, second].sort())
  expect(back?.secret).toBe('of traveller')
  expect(await rules()).toEqual(before)
  expect(await sides.answerOf('cloud', slug)).toBeUndefined()
})

test('after kill -9 of both sides during a transfer, the transfer continues, and exactly one side serves', async () => {
  const { id, slug } = await sides.makeKeeper('survivor')
  const bytes = await sides.fill('here', slug, 3_000_000)
  void sides.move(id, 'cloud').catch(() => undefined)
  await expect.poll(async () => (await sides.transfer(id))?.phase, { interval: 5 }).toBe('staging')
  await Promise.all([sides.here.berth.kill9(), sides.cloud.berth.kill9()])
  await Promise.all([sides.here.berth.restart(), sides.cloud.berth.restart()])
  expect(await endOf(sides, id)).toMatchObject({ phase: 'done', error: null })
  expect(Object.values((await sides.answerOf('cloud', slug))?.files ?? {})).toEqual([bytes])
  expect(await sides.answerOf('here', slug)).toBeUndefined()
})

test('berth project export and import copy a project with its data as one encrypted file', async () => {
  const { here } = sides
  const { id, slug } = await sides.makeKeeper('packed')
  const bytes = await sides.fill('here', slug, 2_000_000)
  const token = (await here.api('POST', '/tokens', { name: 'cli' })).body.data.token
  expect((await here.cli(['login', '--token-stdin'], { input: token })).code).toBe(0)
  const file = `${here.folder}/packed.berth`
  const passphrase = 'a long passphrase'
  const exported = await here.cli(['project', 'export', id, '-o', file, '--passphrase-stdin'], {
    input: passphrase,
  })
  expect(exported).toMatchObject({ code: 0, stderr: '' })
  expect((await sides.answerOf('here', slug))?.secret).toBe('of packed')

  const there = await here.cli(['project', 'import', file, '--passphrase-stdin'], { input: passphrase })
  expect(there.code).not.toBe(0)
  expect(there.stderr).toContain('already exists')
  expect((await here.api('DELETE', `/projects/${id}?deleteVolumes=true`)).status).toBe(200)
  const wrong = await here.cli(['project', 'import', file, '--passphrase-stdin'], { input: 'another passphrase' })
  expect(wrong.stderr).toContain('cannot be decrypted')
  const imported = await here.cli(['project', 'import', file, '--passphrase-stdin'], { input: passphrase })
  expect(imported.code).toBe(0)
  const back = await sides.answerOf('here', slug)
  expect([back?.secret, Object.values(back?.files ?? {})]).toEqual(['of packed', [bytes]])
})
