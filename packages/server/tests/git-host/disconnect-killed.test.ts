// gate: also on PostgreSQL, since jobs of a dead process come back when their lease ends
import { afterAll, beforeAll, expect, test } from 'vitest'
import { call } from '../kit/call.ts'
import { Lives } from '../kit/lives.ts'
import { connectAccount, type Scene, startScene } from './scene.ts'

let scene: Scene
let lives: Lives
beforeAll(async () => {
  scene = await startScene(['app', 'oauth'])
  lives = new Lives(scene.instance)
})
afterAll(async () => {
  await lives?.end()
  await scene?.stop()
})

/** An account with its tokens, an app, the machine's login, and a pending device code. */
async function connected(): Promise<void> {
  const { db } = scene.instance.database
  await connectAccount(scene)
  const now = Date.now()
  const { organizationId } = scene.people
  const account = { accountId: '9', accountType: 'user' as const, accountLogin: 'cleo' }
  for (const [source, externalId] of [['app', '77'] as const, ['cli', ''] as const]) {
    const row = { id: `gcn_${source}`, organizationId, provider: 'github' as const, source, externalId, ...account }
    await db
      .insertInto('gitConnections')
      .values({ ...row, createdAt: now, updatedAt: now })
      .execute()
  }
  const { userId } = scene.people.owner
  const code = { deviceCode: 'sealed', userCode: 'AB-CD', verificationUri: 'http://host/device', intervalSeconds: 5 }
  const times = { nextPollAt: now, expiresAt: now + 600_000, createdAt: now }
  await db
    .insertInto('gitDeviceLogins')
    .values({ id: 'gdl_1', organizationId, userId, provider: 'github', status: 'pending', ...code, ...times })
    .execute()
}

const stored = async () => {
  const { db } = scene.instance.database
  const rows = await db.selectFrom('gitConnections').select('source').orderBy('source').execute()
  const codes = await db.selectFrom('gitDeviceLogins').select('userCode').execute()
  return [...rows.map(({ source }) => source), ...codes.map(() => 'code')]
}

test.each([
  ['oauth', ['app', 'cli']],
  ['cli', ['app', 'oauth', 'code']],
  ['all', []],
])(
  'kill -9 at every step of a disconnect from %s: everything or nothing is removed, and a second request removes it',
  async (source, left) => {
    const at = 'POST /gitprovider/disconnect'
    for (let step = 0, end = ''; end !== 'answered'; step += 1) {
      await scene.request(at)
      await connected()
      const life = await lives.start(step)
      const requested = call(life.plane, scene.people.owner.token, at, { body: { source } })
      end = await Promise.race([requested.then(() => 'answered'), life.died.promise.then(() => 'dead')])
      const after = await stored()
      expect([left, ['app', 'cli', 'oauth', 'code']], `killed at step ${step}`).toContainEqual(after)
      const next = await lives.start()
      const again = await call(next.plane, scene.people.owner.token, at, { body: { source } })
      expect([again.status, again.body.data.state]).toEqual([200, left.length > 0 ? 'connected' : 'disconnected'])
      expect(await stored(), `killed at step ${step}`).toEqual(left)
      await lives.end()
    }
  },
)
