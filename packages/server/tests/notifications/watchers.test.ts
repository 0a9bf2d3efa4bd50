import type { MachineProblem } from '@berth/contract'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { findOperators } from '../../src/modules/access/setup-organization.ts'
import { prune } from '../../src/modules/notifications/delivery/prune.ts'
import type { ExpiringCertificate, MissedBackup, WatchedMachine, WatchedServer } from '../../src/modules/notifications/index.ts'
import { makeToken } from '../kit/people.ts'
import { asPerson, days, hours, makePeople, minutes, type People, type Scene, startScene } from './scene.ts'

/** Working stand-ins of the modules that the watchers poll. */
const certificates: ExpiringCertificate[] = []
const missed: MissedBackup[] = []
const servers: WatchedServer[] = []
const silent = new Set<string>()
const machineProblems: MachineProblem[] = []
let operators: WatchedMachine['operators']
const watched = {
  certificates: {
    expiring: async (until: Date) => certificates.filter(({ expiresAt }) => expiresAt <= until),
    ownProblems: async () => [],
    operators: () => operators(),
  },
  backups: { missed: async () => missed },
  servers: {
    list: async () => servers,
    check: async (id: string) => {
      if (silent.has(id)) throw new Error('connection refused')
    },
  },
  machine: { problems: async () => machineProblems, operators: () => operators() },
}

let scene: Scene
let people: People
beforeEach(async () => {
  for (const list of [certificates, missed, servers, machineProblems]) list.length = 0
  silent.clear()
  scene = await startScene({ parts: { watched: { tokens: undefined, ...watched } } })
  people = await makePeople(scene)
})
afterEach(() => scene?.stop())

const now = () => Date.now() + moved
let moved = 0
beforeEach(() => {
  moved = 0
})
const pass = async (ms: number) => {
  moved += ms
  await scene.pass(ms)
}
const reported = async (who: 'owner' | 'member' = 'owner') =>
  (await asPerson(scene, people[who]).deliveries()).map(({ subject }: { subject: string }) => subject).toReversed()

describe('certificates', () => {
  const certificate = (daysLeft: number): ExpiringCertificate => ({
    hostname: 'shop.example.test',
    organizationId: people.organizationId,
    projectId: 'prj_x',
    issuedAt: new Date(now() - 60 * days),
    expiresAt: new Date(now() + daysLeft * days),
  })

  test('domain.expiring at 21, 7 and 1 days before, once each', async () => {
    certificates.push(certificate(25))
    await pass(2 * hours)
    expect(await reported()).toEqual([])
    for (let day = 0; day < 25; day++) await pass(1 * days)
    expect(await reported()).toEqual([
      'The certificate of shop.example.test expires in 21 days',
      'The certificate of shop.example.test expires in 7 days',
      'The certificate of shop.example.test expires within a day',
    ])
  })
  test('a restart does not repeat a warning', async () => {
    certificates.push(certificate(5))
    await pass(2 * hours)
    await scene.jobs.stop()
    const restarted = await scene.startSecond()
    await restarted.pass(2 * hours)
    await restarted.stop()
    expect(await reported()).toEqual(['The certificate of shop.example.test expires in 5 days'])
  })
  test('a renewed certificate has its own warning', async () => {
    certificates.push(certificate(5))
    await pass(2 * hours)
    certificates[0] = { ...certificate(6) }
    await pass(2 * hours)
    expect(await reported()).toHaveLength(2)
  })
})

describe('missed backups', () => {
  test('backup.missed once for each missed time', async () => {
    const due = { policyId: 'bkp_x', organizationId: people.organizationId, projectId: 'prj_x', projectName: 'shop' }
    missed.push({ ...due, dueAt: new Date(now()) })
    for (let check = 0; check < 3; check++) await pass(6 * minutes)
    expect(await reported()).toEqual(['The backup of shop is overdue'])
    missed.push({ ...due, dueAt: new Date(now()) })
    await pass(6 * minutes)
    expect(await reported()).toHaveLength(2)
  })
})

const sortedById = (list: { userId: string; organizationId: string }[]) =>
  list.toSorted((left, right) => left.userId.localeCompare(right.userId))

describe('the machine', () => {
  const problem = (kind: MachineProblem['kind']): MachineProblem => ({ kind, message: 'Little is left.', remedy: 'Clean up.' })
  beforeEach(() => {
    operators = async () => [{ userId: people.owner.userId, organizationId: people.organizationId }]
  })

  test('a disk that is low is reported to operators only, at once, and again each day while it lasts', async () => {
    machineProblems.push(problem('disk_low'))
    for (let check = 0; check < 5; check++) await pass(61_000)
    expect(await reported()).toEqual(['The disk of the machine is nearly full'])
    expect(await reported('member')).toEqual([])
    await pass(1 * days + 2 * hours)
    await pass(61_000)
    expect(await reported()).toHaveLength(2)
    machineProblems.length = 0
    for (let day = 0; day < 3; day++) await pass(1 * days)
    expect(await reported()).toHaveLength(2)
  })
  test('memory that is low is reported after three readings in a row', async () => {
    for (let round = 0; round < 3; round++) {
      machineProblems.push(problem('memory_low'))
      await pass(61_000)
      await pass(61_000)
      machineProblems.length = 0
      await pass(61_000)
    }
    expect(await reported()).toEqual([])
    machineProblems.push(problem('memory_low'))
    for (let check = 0; check < 4; check++) await pass(61_000)
    expect(await reported()).toEqual(['The machine has little memory left'])
  })
  test('operators are the owners and admins of the set-up organisation', async () => {
    await makePeople(scene)
    const { organizationId } = people
    expect(sortedById(await findOperators(scene.database.db))).toEqual(
      sortedById([people.owner, people.admin].map(({ userId }) => ({ userId, organizationId }))),
    )
  })
})

describe('servers that stopped answering', () => {
  beforeEach(() => {
    servers.push({ id: 'srv_x', name: 'box', organizationId: people.organizationId })
  })
  test('three consecutive failures are reported once, and so is the recovery', async () => {
    silent.add('srv_x')
    await pass(61_000)
    await pass(61_000)
    expect(await reported()).toEqual([])
    for (let check = 0; check < 5; check++) await pass(61_000)
    expect(await reported()).toEqual(['Server box is unreachable'])
    silent.clear()
    for (let poll = 0; poll < 3; poll++) await pass(61_000)
    expect(await reported()).toEqual(['Server box is unreachable', 'Server box is reachable again'])
  })
  test('a success after two failures resets the count', async () => {
    for (let round = 0; round < 3; round++) {
      silent.add('srv_x')
      await pass(61_000)
      await pass(61_000)
      silent.clear()
      await pass(61_000)
    }
    expect(await reported()).toEqual([])
  })
  test('a removed server is not reported', async () => {
    silent.add('srv_x')
    for (let check = 0; check < 4; check++) await pass(61_000)
    servers.length = 0
    await pass(61_000)
    expect(await reported()).toHaveLength(1)
    expect(await scene.database.db.selectFrom('serverFailures').selectAll().execute()).toEqual([])
  })
})

describe('tokens about to expire', () => {
  let real: Scene
  let ours: People
  beforeEach(async () => {
    real = await startScene()
    ours = await makePeople(real)
  })
  afterEach(() => real?.stop())
  const subjects = async (who: 'owner' | 'member') =>
    (await asPerson(real, ours[who]).deliveries()).map(({ subject }: { subject: string }) => subject).toReversed()

  test('token.expiring 7 days and 1 day before, once each, to its owner only', async () => {
    await makeToken(real, ours.member, { expiresAt: Date.now() + 10 * days })
    for (let day = 0; day < 11; day++) await real.pass(1 * days)
    expect(await subjects('member')).toEqual([
      'Your access token “test” expires in 7 days',
      'Your access token “test” expires within a day',
    ])
    expect(await subjects('owner')).toEqual([])
  })
  test('a token with a lifetime of three days gets only the last warning', async () => {
    await makeToken(real, ours.member, { expiresAt: Date.now() + 3 * days })
    await real.pass(2 * hours)
    expect(await subjects('member')).toEqual([])
    await real.pass(2 * days)
    expect(await subjects('member')).toEqual(['Your access token “test” expires within a day'])
  })
  test('after a long downtime only the latest warning is sent', async () => {
    await makeToken(real, ours.member, { expiresAt: Date.now() + 10 * days })
    await real.pass(9 * days + 12 * hours)
    await real.pass(2 * hours)
    expect(await subjects('member')).toEqual(['Your access token “test” expires within a day'])
  })
})

describe('old deliveries are pruned', () => {
  const rows = async () =>
    (await scene.database.db.selectFrom('deliveries').select('id').where('userId', '=', people.owner.userId).execute()).length
  const announcements = async () => (await scene.database.db.selectFrom('announcements').select('id').execute()).length
  const keep = { keepMs: 90 * days, maxPerUser: 2_000 }
  const stillHere = new AbortController().signal

  test('by age, with their announcements', async () => {
    await scene.happen(people, 'deploy.failed')
    await prune(scene.database.db, now() + 89 * days, keep, stillHere)
    expect([await rows(), await announcements()]).toEqual([1, 1])
    await prune(scene.database.db, now() + 91 * days, keep, stillHere)
    expect([await rows(), await announcements()]).toEqual([0, 0])
  })
  test('by number, oldest first', async () => {
    for (let at = 0; at < 5; at++) await scene.happen(people, 'deploy.failed', { subject: `Alert ${at}` })
    await prune(scene.database.db, now(), { ...keep, maxPerUser: 2 }, stillHere)
    expect(await reported()).toEqual(['Alert 3', 'Alert 4'])
  })
  test('unsent deliveries stay', async () => {
    await scene.happen(people, 'deploy.failed')
    await scene.database.db.updateTable('deliveries').set({ status: 'queued' }).execute()
    await prune(scene.database.db, now() + 91 * days, keep, stillHere)
    expect(await rows()).toBe(1)
  })
  test('an hourly job runs the clean-up', async () => {
    await scene.happen(people, 'deploy.failed')
    await pass(100 * days)
    expect(await rows()).toBe(0)
  })
})
