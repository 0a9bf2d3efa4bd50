// gate: also on PostgreSQL, since a write and its record are one transaction
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type AnyRoute, type Method, table } from '@berth/contract'
import type { FastifyRequest } from 'fastify'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { newId } from '../src/platform/db/ids.ts'
import { stepLength } from './kit/before-sql.ts'
import { type CallInput, call } from './kit/call.ts'
import { startInstance, type TestInstance } from './kit/instance.ts'
import { makePeople, type People, password } from './kit/people.ts'
import { sampleBodies } from './kit/sample-bodies.ts'
import { codeOf, turnOnTotp } from './kit/sessions.ts'
import { softwareAuthenticator } from './kit/software-authenticator.ts'
import { storedIn } from './kit/stored.ts'
import { makeWorld, type World } from './kit/world.ts'

/**
 * Checks for each row of the table that writes: its entry in the audit log is a part of the write. If the entry cannot be stored,
 * nothing is; and a client that disconnects before the handler runs is logged like any other.
 */

type At = `${Method} /${string}`

const writes = table
  .map(({ row }) => ({ at: row.at as At, row: row as AnyRoute }))
  .filter(({ row }) => row.method !== 'GET')
  .filter((_, at) => at % stepLength === 0)

let folder: string
let instance: TestInstance
let ours: People
let port: number
/** Socket of the connection that is reset before the handler of its request runs. */
let leaving: Socket | undefined
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-recorded-'))
  mkdirSync(join(folder, 'app'))
})
afterAll(async () => {
  await instance?.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** Each test adds a world, and reads all that is stored: with one instance for all, most of the time went into earlier worlds. */
const testsPerInstance = 10
let begun = 0
beforeEach(async () => {
  if (begun++ % testsPerInstance > 0) return
  await instance?.stop()
  instance = await startInstance({ BERTH_PROJECT_ROOTS: folder })
  instance.app.addHook('preHandler', async ({ raw }: FastifyRequest) => {
    if (!leaving) return
    const gone = new Promise((resolve) => raw.socket.once('close', resolve))
    leaving.resetAndDestroy()
    leaving = undefined
    await gone
  })
  ours = await makePeople(instance)
  port = Number(new URL(await instance.app.listen({ host: '127.0.0.1', port: 0 })).port)
})

const stored = () => storedIn(instance)

async function withoutAuditLog<Result>(work: () => Promise<Result>): Promise<Result> {
  const rename = (from: string, to: string) => instance.database.db.schema.alterTable(from).renameTo(to).execute()
  await rename('auditLog', 'auditLogAway')
  try {
    return await work()
  } finally {
    await rename('auditLogAway', 'auditLog')
  }
}

const entriesOf = (action: string) =>
  instance.database.db.selectFrom('auditLog').selectAll().where('action', '=', action).orderBy('at').execute()

/** Sends a request whose connection is reset once it was read. */
function sendAndLeave(at: At, token: string, { params = {}, body, headers = {} }: CallInput): void {
  const [method, path] = at.split(' ') as [Method, string]
  const url = `/api${path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] as string))}`
  const text = body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body)
  const head = {
    host: 'x',
    authorization: `Bearer ${token}`,
    ...(text ? { 'content-type': 'application/json' } : {}),
    ...headers,
    'content-length': String(Buffer.byteLength(text)),
  }
  leaving = connect(port, '127.0.0.1').on('error', () => undefined)
  const lines = [`${method} ${url} HTTP/1.1`, ...Object.entries(head).map(([name, value]) => `${name}: ${value}`)]
  leaving.write(`${lines.join('\r\n')}\r\n\r\n${text}`)
}

const fromPage = { host: 'berth.test', origin: 'http://berth.test' }

async function newPasskey({ people }: World) {
  const device = softwareAuthenticator(fromPage.origin)
  const body = { currentPassword: password }
  const begun = await call(instance, people.owner.token, 'POST /auth/passkeys/registration', { body, headers: fromPage })
  return { device, credential: device.create(begun.body.data) }
}

/** Inputs that differ from the world's own: bodies that name objects created before, and confirmations of a deletion. */
const inputs: Record<string, (world: World) => Promise<CallInput> | CallInput> = {
  'POST /auth/login': ({ people }) => ({ body: { email: people.owner.email, password } }),
  'POST /auth/totp/confirm': async ({ people }) => {
    const { secret } = (await call(instance, people.owner.token, 'POST /auth/totp')).body.data
    return { body: { code: codeOf(secret, Date.now()) } }
  },
  'DELETE /auth/totp': async ({ people }) => ({
    body: { code: (await turnOnTotp(instance, people.owner, Date.now())).recoveryCodes[0] },
  }),
  'POST /auth/passkeys/registration': () => ({ body: { currentPassword: password }, headers: fromPage }),
  'POST /auth/passkeys': async (world) => ({
    body: { name: 'Laptop', credential: (await newPasskey(world)).credential },
    headers: fromPage,
  }),
  'POST /auth/passkeys/sign-in': async (world) => {
    const { device, credential } = await newPasskey(world)
    await call(instance, world.people.owner.token, 'POST /auth/passkeys', {
      body: { name: 'Laptop', credential },
      headers: fromPage,
    })
    const { data } = (await call(instance, null, 'GET /auth/passkeys/sign-in-options')).body
    return { body: { credential: device.get(data) }, headers: fromPage }
  },
  'POST /invitations/accept': async ({ people }) => {
    const body = { email: `${newId('inv')}@example.test`, role: 'viewer' }
    const { code } = (await call(instance, people.owner.token, 'POST /invitations', { body })).body.data
    return { body: { code, email: body.email, password: 'long enough' } }
  },
  'PUT /projects/:id/grants': ({ people }) => ({ body: { userId: people.member.userId, level: 'admin' } }),
  'POST /projects/:id/environments': () => ({ body: { name: 'Another' } }),
  'POST /projects/import': () => ({ body: { path: join(folder, 'app'), name: newId('prj') } }),
  'POST /projects/scan': () => ({ body: { path: join(folder, 'app') } }),
  'PUT /gitprovider/applications/:provider': () => ({ params: { provider: 'gitlab' } }),
  'DELETE /gitprovider/applications/:provider': async ({ people }) => {
    const input = { params: { provider: 'gitea' }, body: { clientId: 'id', clientSecret: 'secret' } }
    await call(instance, people.owner.token, 'PUT /gitprovider/applications/:provider', input)
    return { params: input.params }
  },
  'PUT /notifications/subscriptions': ({ ids }) => ({
    body: { ...sampleBodies['PUT /notifications/subscriptions'], channelId: ids.channel },
  }),
  'POST /projects/:projectId/backup-policies': ({ ids }) => ({
    body: { ...sampleBodies['POST /projects/:projectId/backup-policies'], destinationId: ids.backupDestination },
  }),
  'PUT /instance/backup-policy': ({ ids }) => ({ body: { destinationId: ids.backupDestination } }),
  'DELETE /instance/backup-policy': async ({ people, ids }) => {
    const body = { destinationId: ids.backupDestination }
    await call(instance, people.owner.token, 'PUT /instance/backup-policy', { body })
    return {}
  },
  'POST /instance/backups': ({ ids }) => ({ body: { destinationId: ids.backupDestination } }),
}

/** Rows that concern only the caller. */
const ofNoObject = new Set([
  'POST /auth/login',
  'POST /auth/passkeys/sign-in',
  'POST /auth/logout',
  'POST /projects/scan',
  'DELETE /cloud/link',
])

/** Rows that do not reach a write here, and the error code of their response. Other tests call them. */
const refused: Record<string, string> = {
  'POST /auth/setup': 'already_set_up',
  'POST /auth/sign-up': 'not_found',
  'POST /auth/password/reset-request': 'conflict',
  'POST /auth/password/reset': 'not_found',
  'POST /auth/sign-up/complete': 'not_found',
  'POST /auth/sign-up/invitations': 'not_found',
  'PUT /quotas/:organizationId': 'not_found',
  'DELETE /organizations/:id': 'conflict',
  'DELETE /projects/:id': 'work_in_progress',
  'POST /projects/:id/git/link': 'remote_unreachable',
  'POST /projects/folder/upload/:sessionId': 'validation_failed',
  'POST /projects/folder/scan/:sessionId': 'conflict',
  'POST /projects/:id/transfer/to-cloud': 'cloud_not_linked',
  'POST /projects/:id/transfer/to-self-hosted': 'cloud_not_linked',
  'POST /deployments/:id/rollback': 'nothing_to_roll_back_to',
  'POST /projects/:id/restart': 'work_in_progress',
  'POST /projects/:id/exec': 'conflict',
  'POST /projects/:id/exec/:execId/input': 'not_found',
  'POST /hooks/deploy/:token': 'not_found',
  'POST /projects/:id/cron-jobs/:cronJobId/run': 'conflict',
  'POST /projects/:id/links': 'not_found',
  'POST /catalogue/:templateId': 'not_found',
  'DELETE /projects/:id/volumes/:volumeId': 'work_in_progress',
  'POST /gitprovider/manifest/conversion': 'validation_failed',
  'POST /gitprovider/handoffs': 'not_found',
  'POST /gitprovider/handoffs/collect': 'not_found',
  'POST /gitprovider/handoffs/refresh': 'not_found',
  'POST /gitprovider/repos': 'no_source',
  'DELETE /gitprovider/repos/:owner/:repo': 'no_source',
  'POST /gitprovider/repos/:owner/:repo/webhooks': 'no_source',
  'DELETE /gitprovider/repos/:owner/:repo/webhooks': 'no_source',
  'POST /webhooks/git/:provider': 'not_found',
  'POST /projects/:id/pull-requests/:number/approve': 'not_found',
  'POST /backup-runs/:runId/restore/prepare': 'not_restorable',
  'POST /backup-restores/:restoreId/apply': 'validation_failed',
  'POST /backup-restores/:restoreId/cancel': 'conflict',
  'POST /webhooks/backup': 'not_found',
  'POST /backup-runs/:runId/cancel': 'conflict',
  'DELETE /backup-destinations/:id': 'destination_in_use',
  'POST /migration/scan': 'server_unreachable',
  'POST /migration/adopt': 'server_unreachable',
  'DELETE /transfers/:id': 'not_found',
  'POST /projects/:id/departure': 'work_in_progress',
  'PATCH /departures/:id': 'not_found',
  'PUT /arrivals/:id': 'not_found',
  'PATCH /arrivals/:id': 'not_found',
  'PUT /arrivals/:id/files/:file': 'validation_failed',
  'PUT /cloud/link': 'cloud_unreachable',
}

const inputOf = async (row: AnyRoute, world: World): Promise<CallInput> => {
  const usual = world.inputFor(row)
  return { ...usual, ...(await inputs[row.at]?.(world)) }
}

describe.each(writes)('$at', ({ at, row }) => {
  test('stores nothing if its audit entry cannot be stored, and has an entry even if the client disconnects', async () => {
    const world = await makeWorld(instance, row.operator ? ours : await makePeople(instance))
    const { token } = world.people.owner
    const input = await inputOf(row, world)
    const before = await stored()
    const blocked = await withoutAuditLog(() => call(instance, token, at, input))
    expect(await stored()).toEqual(before)
    const already = (await entriesOf(row.at)).length
    if (refused[at]) {
      const { body } = await call(instance, token, at, input)
      expect([blocked.body.code, body.code]).toEqual([refused[at], refused[at]])
      return
    }
    expect(blocked).toMatchObject({ status: 500, body: { code: 'internal' } })
    sendAndLeave(at, token, input)
    await expect.poll(async () => (await entriesOf(row.at)).length).toBe(already + 1)
    const entry = (await entriesOf(row.at)).at(-1)
    expect(entry?.ip).toBe('127.0.0.1')
    if (!ofNoObject.has(at)) expect([entry?.objectKind, entry?.objectId]).toEqual([expect.any(String), expect.any(String)])
  })
})

test('the rows that are refused here exist in the table', () => {
  const known = new Set(table.map(({ row }) => row.at))
  expect([...Object.keys(refused), ...Object.keys(inputs)].filter((at) => !known.has(at))).toEqual([])
})
