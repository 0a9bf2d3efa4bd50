import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '../../src/platform/db/ids.ts'
import { call } from '../kit/call.ts'
import { makePeople, makeToken } from '../kit/people.ts'
import { makeProject } from '../kit/projects.ts'
import { type Bundle, bringIn, callOff, forged, openArrival, sendFile, takeBundle } from './bundle-kit.ts'
import { setTransferScene, type TransferScene } from './transfer-scene.ts'

let scene: TransferScene
let bundle: Bundle
let token: string
beforeAll(async () => {
  scene = await setTransferScene()
  const project = await scene.makeLive({ name: 'Packed' })
  await scene.setVolume('here', project.id, 'what the volume holds')
  bundle = await takeBundle(scene.here, scene.people.owner.token, project.id)
  token = scene.cloudPeople.owner.token
})
afterAll(() => scene?.end())

const projectsLeft = (id: string) => scene.cloud.database.db.selectFrom('projects').select('id').where('id', '=', id).execute()

/** The import must fail with that code, and leave nothing behind. */
async function refused(hostile: Bundle, code: string, text = ''): Promise<void> {
  const { state, error } = await bringIn(scene.cloud, token, hostile)
  expect({ state, code: error?.code }).toEqual({ state: 'failed', code })
  expect(error?.message).toContain(text)
  await callOff(scene.cloud, token, hostile.transfer)
  await expect.poll(() => projectsLeft(hostile.project)).toEqual([])
  expect(
    [...scene.cloud.drivers.runtime.running.values()].filter(({ request }) => request.owner.projectId === hostile.project),
  ).toEqual([])
}

test('an unchanged bundle is imported with its data', async () => {
  const honest = await forged(bundle, () => {})
  expect(await bringIn(scene.cloud, token, honest)).toMatchObject({ state: 'active', error: null })
  expect(await scene.volume('cloud', honest.project)).toBe('what the volume holds')
})

describe('a bundle that was changed, truncated or reordered in transit', () => {
  const with_ = (files: Record<string, Buffer | null>): Bundle => {
    const changed = new Map(bundle.files)
    for (const [name, bytes] of Object.entries(files)) bytes ? changed.set(name, bytes) : changed.delete(name)
    return { ...bundle, files: changed }
  }
  const part = () => [...bundle.files.keys()].find((name) => name.includes('-v0.')) as string
  const flipped = (name: string) => {
    const bytes = Buffer.from(bundle.files.get(name)!)
    bytes[bytes.length - 20]! ^= 1
    return bytes
  }

  test('a file whose content does not match the sent hash is refused', async () => {
    await openArrival(scene.cloud, token, bundle)
    const sent = await sendFile(scene.cloud, token, bundle.transfer, part(), flipped(part()), 'a'.repeat(64))
    expect(sent).toEqual({ status: 400, code: 'validation_failed' })
    await callOff(scene.cloud, token, bundle.transfer)
  })
  test('a changed part', () => refused(with_({ [part()]: flipped(part()) }), 'bundle_damaged'))
  test('a missing part', () => refused(with_({ [part()]: null }), 'bundle_incomplete'))
  test('two swapped parts', async () => {
    const body = [...bundle.files.keys()].find((name) => name.startsWith('body.')) as string
    await refused(with_({ [part()]: bundle.files.get(body)!, [body]: bundle.files.get(part())! }), 'bundle_damaged')
  })
  test('a changed manifest, or one signed with another key', async () => {
    const other = await forged(bundle, () => {})
    await refused({ ...bundle, signer: other.signer }, 'bundle_damaged', 'signature')
    await refused(with_({ 'manifest.1.json': flipped('manifest.1.json') }), 'bundle_damaged')
  })
  test('the files of one transfer replayed as another', () =>
    refused({ ...bundle, transfer: newId('trf') }, 'bundle_damaged', 'another transfer'))
})

describe('a bundle with content that this instance refuses', () => {
  test.each<[string, Parameters<typeof forged>[1], string]>([
    [
      'a volume named like a path',
      (body) => {
        body.volumes[0]!.name = '../../etc'
      },
      'bundle_refused',
    ],
    [
      'a rule that no rule can be',
      (body) => {
        body.project.rules = [{ kind: 'ban', config: { ips: ['everybody'] } }]
      },
      'validation_failed',
    ],
    [
      'a folder of the machine as a mount',
      (body) => {
        body.project.options.services = [
          { name: 'web', image: 'nginx', volumes: [{ type: 'bind', source: '/etc', target: '/etc' }] },
        ]
      },
      'validation_failed',
    ],
    [
      'a repository inside the service’s own networks',
      (body) => {
        body.project.source = { kind: 'git', gitProvider: 'git', gitUrl: 'https://127.0.0.1/x.git' }
      },
      'validation_failed',
    ],
    [
      'a slug that is no slug',
      (body) => {
        body.project.slug = '../admin'
      },
      'bundle_refused',
    ],
    [
      'a variable that is no variable',
      (body) => {
        body.project.environments[0]!.variables[0]!.key = 'A=B'
      },
      'bundle_refused',
    ],
    [
      'more variables than an environment may have',
      (body) => {
        const variables = Array.from({ length: 20 }, (_, at) => ({ key: `V${at}`, value: 'x'.repeat(60_000), isSecret: false }))
        body.project.environments[0]!.variables = variables
      },
      'validation_failed',
    ],
    [
      'more route rules than a project may have',
      (body) => {
        body.project.rules = Array.from({ length: 201 }, () => ({ kind: 'ban' as const, config: { ips: ['10.0.0.1'] } }))
      },
      'validation_failed',
    ],
    [
      'no production environment',
      (body) => {
        body.project.environments[0]!.slug = 'elsewhere'
      },
      'validation_failed',
    ],
    [
      'a part that is said to be smaller than it is',
      (body) => {
        body.volumes[0]!.index.parts[0]!.plainBytes = 3
      },
      'bundle_damaged',
    ],
    [
      'a part that is said to be larger than any can be',
      (body) => {
        body.volumes[0]!.index.parts[0]!.plainBytes = 2 ** 40
      },
      'bundle_damaged',
    ],
    [
      'more data than there is room for',
      (body) => {
        body.volumes[0]!.index.plainBytes = 2 ** 50
      },
      'unavailable',
    ],
    [
      'a part that the manifest does not list',
      (body) => {
        body.volumes[0]!.index.parts[0]!.name = 'index.1.json'
      },
      'bundle_damaged',
    ],
  ])('%s', async (_, change, code) => refused(await forged(bundle, change), code))
})

describe('objects of others', () => {
  test('the id of a project of another organisation is not adopted', async () => {
    const theirs = await makeProject(scene.cloud, (await makePeople(scene.cloud)).owner.token)
    const hostile = await forged(bundle, () => {}, theirs.id)
    const { status, body } = await openArrival(scene.cloud, token, hostile)
    expect([status, body.code]).toEqual([409, 'already_there'])
  })
  test('a host name is imported as an unproven claim, with a new token', async () => {
    const others = await makePeople(scene.cloud)
    const theirs = await makeProject(scene.cloud, others.owner.token)
    const domain = 'bank.example.test'
    await call(scene.cloud, others.owner.token, 'POST /projects/:id/connect', { params: { id: theirs.id }, body: { domain } })
    const { db } = scene.cloud.database
    await db.updateTable('domains').set({ provenAt: 1, nextCheckAt: null }).where('projectId', '=', theirs.id).execute()
    const hostile = await forged(bundle, (body) => {
      const domains = [
        { hostname: domain, primary: true, proofToken: 'mine', provenAt: 1 },
        { hostname: 'admin.localhost', primary: false },
      ]
      body.project.domains = domains
    })
    const { warnings } = await bringIn(scene.cloud, token, hostile)
    expect(warnings.join()).toContain('admin.localhost was not transferred')
    const [claim, ...more] = await db.selectFrom('domains').selectAll().where('projectId', '=', hostile.project).execute()
    expect(more).toEqual([])
    expect(claim).toMatchObject({ hostname: domain, provenAt: null })
    expect(claim?.proofToken).not.toBe('mine')
    const target = scene.cloud.drivers.edge.table.hosts[domain]?.target
    expect(target === undefined || ('projectId' in target && target.projectId === theirs.id)).toBe(true)
  })
  test('a transfer side is accessible only to the user who started it, and not with a token limited to projects', async () => {
    const mine = await forged(bundle, () => {})
    await openArrival(scene.cloud, token, mine)
    const outsider = (await makePeople(scene.cloud)).owner.token
    const colleague = scene.cloudPeople.admin.token
    const params = { id: mine.transfer }
    for (const other of [outsider, colleague]) {
      expect((await call(scene.cloud, other, 'GET /arrivals/:id', { params })).status).toBe(404)
      expect((await callOff(scene.cloud, other, mine.transfer)).status).toBe(404)
      expect((await sendFile(scene.cloud, other, mine.transfer, 'a', Buffer.from('x'))).status).toBe(404)
    }
    const project = await makeProject(scene.cloud, token)
    const limited = await makeToken(scene.cloud, scene.cloudPeople.owner, { projectIds: [project.id] })
    expect((await call(scene.cloud, limited, 'GET /arrivals/:id', { params })).status).toBe(403)
    await callOff(scene.cloud, token, mine.transfer)
  })
  test('no file outside the bundle is read or written', async () => {
    const mine = await forged(bundle, () => {})
    await openArrival(scene.cloud, token, mine)
    for (const name of ['../x', '.unfinished', 'a/b', 'A'])
      expect((await sendFile(scene.cloud, token, mine.transfer, name, Buffer.from('x'))).status).toBe(404)
    await callOff(scene.cloud, token, mine.transfer)
  })
})

test('a project that exceeds the quota of the organisation is not imported', async () => {
  const { organizationId } = scene.cloudPeople
  const { db } = scene.cloud.database
  const { count } = await db
    .selectFrom('projects')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('organizationId', '=', organizationId)
    .executeTakeFirstOrThrow()
  const setQuota = (projects: number | null) =>
    call(scene.cloud, token, 'PUT /quotas/:organizationId', { params: { organizationId }, body: { projects } })
  expect(await setQuota(Number(count))).toMatchObject({ status: 200 })
  try {
    await refused(await forged(bundle, () => {}), 'quota_exceeded', 'projects')
  } finally {
    await setQuota(null)
  }
})
