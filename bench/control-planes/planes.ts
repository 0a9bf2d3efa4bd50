import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { openTestDatabase, type TestDatabase } from '../../packages/server/src/platform/test-database.ts'
import { type Hosting, signIn, startHosting } from '../../tests/kit/hosting.ts'
import { type Berth, startBerth } from '../../tests/kit/start-berth.ts'

export interface Answer {
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: the caller says what it expects to find in it
  body: any
}

/** Three control planes on one PostgreSQL: one runs the projects, two are API processes on data folders of their own. */
export interface Planes extends AsyncDisposable {
  database: TestDatabase
  hosting: Hosting
  all: readonly Berth[]
  /** Kills so far, by plane. */
  kills: number[]
  /** Sends a request to a plane. */
  send(plane: number, method: string, path: string, body?: unknown): Promise<Answer>
  /** Sends a request to one plane after another until one answers it; 503 counts as no answer. */
  ask(method: string, path: string, body?: unknown): Promise<Answer>
  /** The bytes of an event stream from a plane. */
  stream(plane: number, path: string, lastEventId?: string): Promise<AsyncIterable<Uint8Array>>
  killAndRestart(plane: number): Promise<void>
  /** True from a kill until the plane serves again. */
  isKilling(): boolean
}

const leaseSeconds = 5

export async function startPlanes(): Promise<Planes> {
  await using started = new AsyncDisposableStack()
  const database = await openTestDatabase({ kind: 'postgres' })
  started.defer(() => database.close())
  const shared = {
    BERTH_DATABASE_URL: database.settings.url!,
    BERTH_SECRET_KEY: randomBytes(32).toString('hex'),
    BERTH_JOB_LEASE_SECONDS: String(leaseSeconds),
    BERTH_ALLOW_PRIVATE_WEBHOOKS: 'true',
    BERTH_RATE_LIMIT_SCALE: '10000',
  }
  const hosting = started.use(await startHosting({ env: { ...shared, BERTH_MAX_BUILDS: '4' } }))
  const apiEnv = { ...shared, BERTH_ROLE: 'api', BERTH_WORKER_URL: hosting.berth.url }
  const apis = [started.use(await startBerth({ env: apiEnv })), started.use(await startBerth({ env: apiEnv }))]
  const all = [hosting.berth, ...apis]
  const token = await signIn(hosting.berth.url)
  const headersOf = (body: unknown) => ({
    authorization: `Bearer ${token}`,
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
  })
  const send: Planes['send'] = async (plane, method, path, body) => {
    const response = await fetch(`${all[plane]!.url}/api${path}`, {
      method,
      headers: headersOf(body),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, body: text.startsWith('{') ? JSON.parse(text) : text }
  }
  const kills = all.map(() => 0)
  let turn = 0
  let isKilling = false
  const ending = started.move()
  return {
    database,
    hosting,
    all,
    kills,
    send,
    async ask(method, path, body) {
      for (;;) {
        turn += 1
        const answer = await send(turn % all.length, method, path, body).catch(() => undefined)
        if (answer && answer.status !== 503) return answer
        await pause(100)
      }
    },
    async stream(plane, path, lastEventId) {
      const headers = {
        ...headersOf(undefined),
        accept: 'text/event-stream',
        ...(lastEventId ? { 'last-event-id': lastEventId } : {}),
      }
      const response = await fetch(`${all[plane]!.url}/api${path}`, { headers })
      if (response.status !== 200 || !response.body) throw new Error(`${path}: ${response.status} ${await response.text()}`)
      return response.body
    },
    async killAndRestart(plane) {
      kills[plane]! += 1
      isKilling = true
      await all[plane]!.kill9()
      await all[plane]!.restart()
      isKilling = false
    },
    isKilling: () => isKilling,
    [Symbol.asyncDispose]: () => ending.disposeAsync(),
  }
}
