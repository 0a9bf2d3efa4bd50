import type { CategoryId } from '@berth/contract'
import { createMailer } from '../../src/drivers/mail/mailer.ts'
import { testAuthority } from '../../src/drivers/web-request/test-receiver.ts'
import { createWebRequest, type WebRequest } from '../../src/drivers/web-request/web-request.ts'
import type { Parts } from '../../src/instance/assemble/assemble.ts'
import type { AnnouncementEvent } from '../../src/platform/jobs/announce.ts'
import { openKeyRing } from '../../src/platform/secrets/key-ring.ts'
import { Secret } from '../../src/platform/secrets/secret.ts'
import { createSecretBox } from '../../src/platform/secrets/secret-box.ts'
import type { TestDatabase } from '../../src/platform/test-database.ts'
import { type Answer, call } from '../kit/call.ts'
import { startInstance, type TestInstance } from '../kit/instance.ts'
import { makePeople, type People, type Person } from '../kit/people.ts'

/** An instance whose jobs run and whose clock can be moved; deliveries go to receivers on loopback. */
export interface Scene extends TestInstance {
  /** Moves the clock, and waits until all due work is done. */
  pass(ms: number): Promise<void>
  /** Announces an event, and waits for everything that follows within two seconds. */
  happen(
    people: Pick<People, 'organizationId'>,
    category: CategoryId,
    event?: Partial<AnnouncementEvent>,
    times?: number,
  ): Promise<void>
  /** Another control plane on the same database, with the same clock. On SQLite the first one's jobs must be stopped. */
  startSecond(): Promise<Pick<Scene, 'pass' | 'stop'>>
}

export interface SceneParts {
  env?: Record<string, string>
  webRequest?: WebRequest
  smtpPort?: number
  parts?: Partial<Parts>
}

export const seconds = 1_000
export const minutes = 60 * seconds
export const hours = 60 * minutes
export const days = 24 * hours

/** Every name resolves to loopback, and a silent receiver times out soon. */
export const loopback: WebRequest = withLimit(
  createWebRequest({ allowPrivate: true, resolve: async () => ['127.0.0.1'], ca: testAuthority }),
)

export function withLimit(webRequest: WebRequest, timeoutMs = 1_000): WebRequest {
  return { send: (request) => webRequest.send({ ...request, timeoutMs }) }
}

/** A single key for all, so that two control planes can read each other's secrets. */
const secretBox = createSecretBox(openKeyRing({ folder: '/nonexistent', fromSettings: new Secret('ab'.repeat(32)) }))

export async function startScene({ env, webRequest = loopback, smtpPort, parts }: SceneParts = {}): Promise<Scene> {
  let moved = 0
  const clock = { now: () => new Date(Date.now() + moved) }
  const smtpUrl = smtpPort === undefined ? undefined : `smtp://127.0.0.1:${smtpPort}`
  const own = { clock, secretBox, deliveryDrivers: { webRequest, mailer: createMailer({ smtpUrl }) }, ...parts }
  const settings = { BERTH_PUBLIC_URL: 'https://berth.example.test', ...env }
  const instance = await startInstance(settings, own)
  const { database, jobs } = instance
  await jobs.start()
  const passOn =
    ({ database, jobs }: Pick<TestInstance, 'database' | 'jobs'>) =>
    async (ms: number) => {
      moved += ms
      database.signals.publish('jobs', { due: true })
      await jobs.whenIdle()
    }
  const pass = passOn(instance)
  return {
    ...instance,
    pass,
    async happen({ organizationId }, category, event = {}, times = 1) {
      await database.transaction(async ({ announce }) => {
        for (let at = 1; at <= times; at++) {
          const words = { subject: times > 1 ? `It happened (${at})` : 'It happened', text: 'And this is how.' }
          await announce(category, { organizationId, ...words, ...event })
        }
      })
      await jobs.whenIdle()
      await pass(2 * seconds)
    },
    async startSecond() {
      const again = await (database as TestDatabase).openAgain()
      const second = await startInstance(settings, { ...own, database: again })
      await second.jobs.start()
      const stop = async () => {
        await second.jobs.stop({ graceMs: 1_000 })
        await again.close()
        await second.stop()
      }
      return { stop, pass: passOn({ jobs: second.jobs, database: again }) }
    },
    async stop() {
      await jobs.stop({ graceMs: 1_000 })
      await instance.stop()
    },
  }
}

/** A user's own calls. */
export function asPerson(scene: Scene, { token }: Pick<Person, 'token'>) {
  const request = (at: Parameters<typeof call>[2], input?: Parameters<typeof call>[3]) => call(scene, token, at, input)
  const data = async (answer: Promise<Answer>) => {
    const { status, body } = await answer
    if (status >= 300) throw new Error(`${status} ${JSON.stringify(body)}`)
    return body.data
  }
  return {
    ask: request,
    create: (body: object) => data(request('POST /notifications/channels', { body })),
    change: (id: string, body: object) => request('PATCH /notifications/channels/:id', { params: { id }, body }),
    test: (id: string) => request('POST /notifications/channels/:id/test', { params: { id } }),
    channel: async (id: string) =>
      (await data(request('GET /notifications/channels'))).find((one: { id: string }) => one.id === id),
    subscribe: (category: CategoryId, channelId: string, enabled = true) =>
      data(request('PUT /notifications/subscriptions', { body: { category, channelId, enabled } })),
    deliveries: (query: Record<string, string | number | boolean> = {}) =>
      data(request('GET /notifications/deliveries', { query })),
    unseen: async (): Promise<number> => (await data(request('GET /notifications/deliveries/unseen-count'))).count,
    /** A webhook channel that its owner has marked as verified. */
    async webhook(url: string, more: object = {}) {
      const channel = await data(
        request('POST /notifications/channels', { body: { kind: 'webhook', label: 'Hook', config: { url, ...more } } }),
      )
      await request('PATCH /notifications/channels/:id', { params: { id: channel.id }, body: { verified: true } })
      return channel
    },
  }
}

export { makePeople, type People }
