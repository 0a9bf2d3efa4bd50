import type { Method } from '@berth/contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sealedFor } from '../src/platform/db/sealed-columns.ts'
import { call } from './kit/call.ts'
import { startInstance, type TestInstance } from './kit/instance.ts'
import { makePeople, type People } from './kit/people.ts'

/**
 * A stored secret goes only to the address it was given for: for each credential, every way to change its address, in one step or
 * several, is refused or drops the secret. A new kind of sealed value is a row here.
 */

let instance: TestInstance
let people: People
beforeAll(async () => {
  instance = await startInstance()
  people = await makePeople(instance)
})
afterAll(() => instance.stop())

type At = `${Method} /${string}`
// biome-ignore lint/suspicious/noExplicitAny: an answer of any route
type Data = any
interface Credential {
  make: At
  body: object
  /** The route that changes the address; of a member where a member may call it. */
  change: At
  /** Sent after the object was made, for a secret that has a route of its own. */
  secret?: { at: At; body: object }
  read: At
  hasSecret(data: Data): boolean
  addressOf(data: Data): unknown
  /** Bodies that are sent one after the other. */
  ways: readonly (readonly object[])[]
}

const destination = (kind: string, config: object, address: readonly string[], hasSecret: string): Omit<Credential, 'ways'> => ({
  make: 'POST /backup-destinations',
  body: { name: 'Off site', kind, config },
  change: 'PATCH /backup-destinations/:id',
  read: 'GET /backup-destinations/:id',
  hasSecret: (data) => data.config?.[hasSecret],
  addressOf: (data) => address.map((name) => data.config?.[name]),
})
const asConfig = (ways: readonly (readonly object[])[]) => ways.map((way) => way.map((config) => ({ config })))
const repository = 'https://git.example.test/acme/shop.git'
const attacker = 'https://attacker.example.test/acme/shop.git'

const credentials = {
  'projects.cloneToken': {
    make: 'POST /projects',
    body: { name: 'shop', gitUrl: repository },
    secret: { at: 'PATCH /projects/:id/clone-token', body: { token: 'ghp_given_for_one_host' } },
    change: 'PATCH /projects/:id',
    read: 'GET /projects/:id/clone-token',
    hasSecret: (data) => data.hasToken,
    addressOf: () => 'changed',
    ways: [
      [{ gitUrl: attacker }],
      [{ gitProvider: 'git', gitUrl: null }, { gitUrl: attacker }],
      [{ gitUrl: null, gitOwner: null, gitRepo: null, gitBranch: null, gitProvider: null }, { gitUrl: attacker }],
      [{ gitProvider: 'github', gitOwner: 'attacker', gitRepo: 'shop', gitUrl: null }],
      [{ gitProvider: 'github', gitOwner: 'attacker', gitRepo: 'shop', gitUrl: null }, { gitUrl: attacker }],
      [{ gitUrl: 'ssh://git@attacker.example.test/acme/shop.git' }],
      [{ gitUrl: 'https://git.example.test:8443/acme/shop.git' }],
    ],
  },
  'backupDestinations.secrets, sftp': {
    ...destination(
      'sftp',
      { host: 'a.example.test', user: 'berth', path: 'b', password: 'word' },
      ['host', 'port', 'user'],
      'hasPassword',
    ),
    ways: asConfig([
      [{ host: 'b.example.test' }],
      [{ port: 2222 }],
      [{ user: 'root' }],
      [{ path: 'c' }, { host: 'b.example.test', port: 2222 }],
      [{ hostKey: `SHA256:${'a'.repeat(43)}`, host: 'b.example.test' }],
      [{ host: 'b.example.test', password: null }],
    ]),
  },
  'backupDestinations.secrets, s3': {
    ...destination(
      's3',
      { bucket: 'backups', accessKeyId: 'AK', secretAccessKey: 'key' },
      ['endpoint', 'region'],
      'hasSecretAccessKey',
    ),
    ways: asConfig([
      [{ endpoint: 'https://s3.example.test' }],
      [{ region: 'nowhere' }],
      [{ bucket: 'other' }, { endpoint: 'http://b.test' }],
    ]),
  },
  'servers.credential': {
    make: 'POST /servers',
    body: { name: 'Box', host: '203.0.113.9', password: 'word' },
    change: 'PATCH /servers/:id',
    read: 'GET /servers/:id',
    hasSecret: (data) => data.authentication !== 'none',
    addressOf: ({ host, port, user }) => [host, port, user],
    ways: [
      [{ host: '203.0.113.10' }],
      [{ port: 2222 }],
      [{ user: 'other' }],
      [{ name: 'x' }, { host: '203.0.113.10', hostKey: null }],
    ],
  },
} satisfies Record<string, Credential>

/** Sealed values that no route sends to an address of the caller's choice. */
const withoutAddress: Partial<Record<keyof typeof sealedFor, string>> = {
  envVariable: 'the project’s own',
  deploymentEnv: 'the project’s own',
  certificateKey: 'used by the edge',
  acmeAccountKey: 'bound to its directory, which the operator sets',
  cloudToken: 'bound to the cloud that the operator sets',
  gitApplication: 'its host is part of the seal, and another host needs its own secret',
  gitCredential: 'bound to the host that the operator sets',
  gitDeviceCode: 'bound to the host that the operator sets',
  gitWebhookSecret: 'signs; never sent',
  registryPassword: 'its host cannot be changed, and is part of the seal',
  channelSecrets: 'signs, or is the address itself',
  totpSecret: 'computes codes; never sent',
  transferSecrets: 'sealed for the other end of one transfer',
}
const tested: Record<string, true> = { cloneToken: true, destinationSecrets: true, serverCredential: true }

test('every sealed value is in one of the two tables', () => {
  const unknown = Object.keys(sealedFor).filter((name) => !(name in withoutAddress) && !(name in tested))
  expect(unknown).toEqual([])
})

const send = (at: At, id?: string, body?: object) =>
  call(instance, people.owner.token, at, { ...(id ? { params: { id } } : {}), ...(body ? { body } : {}) })

describe.each(Object.entries(credentials) as [string, Credential][])('%s', (_name, credential) => {
  const read = async (id: string) => {
    const { data } = (await send(credential.read, credential.read.includes(':id') ? id : undefined)).body
    return Array.isArray(data) ? data.find((one: { id: string }) => one.id === id) : data
  }

  test.each(credential.ways.map((way) => [JSON.stringify(way), way] as const))('%s', async (_text, way) => {
    const made = await send(credential.make, undefined, credential.body)
    expect([made.status, made.body.error]).toEqual([201, undefined])
    const { id } = made.body.data
    if (credential.secret) await send(credential.secret.at, id, credential.secret.body)
    const before = await read(id)
    expect(credential.hasSecret(before)).toBe(true)
    const statuses: number[] = []
    for (const body of way) statuses.push((await send(credential.change, id, body)).status)
    const after = await read(id)
    const isSameAddress = JSON.stringify(credential.addressOf(before)) === JSON.stringify(credential.addressOf(after))
    if (statuses.at(-1) === 200) expect(credential.hasSecret(after)).toBe(false)
    else expect([statuses.at(-1), isSameAddress]).toEqual([400, true])
  })
})
