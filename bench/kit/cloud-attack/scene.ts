import { readFile } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import type { Side, TwoHostings } from '../../../tests/kit/two-hostings.ts'
import type { Answer } from '../attack.ts'

export type { Answer, Attack } from '../attack.ts'

export interface Tenant {
  organizationId: string
  token: string
}

/** A random generator that repeats its numbers for the same seed. */
export interface Random {
  below(limit: number): number
  pick<T>(items: readonly T[]): T
}

export type AttackScene = Awaited<ReturnType<typeof setAttackScene>>

/**
 * The cloud has three tenants: one is linked to the local instance and attacks, one uses as much as it can get, so that the first
 * still has room to move a project, and one has a project that must not be affected.
 */
export async function setAttackScene(sides: TwoHostings, seed: number) {
  const wrong: string[] = []
  const restarting = new Map<Side, Promise<void>>()
  const random = randomOf(seed)

  /** Waits for a side that is restarting; a 500 response is a finding. */
  async function request(side: Side, token: string, method: string, path: string, options: RequestOptions = {}): Promise<Answer> {
    await restarting.get(side)
    const { body, bytes, headers = {} } = options
    const answer = await fetch(`${sides[side].berth.url}/api${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(bytes === undefined ? {} : { body: new Uint8Array(bytes) }),
      redirect: 'manual',
      signal: AbortSignal.timeout(60_000),
    })
    const text = await answer.text()
    if (answer.status === 500 || answer.status === 502)
      wrong.push(
        `${method} ${path.replace(/[a-z]{3}_[a-z2-7]{20}/g, ':id')} on ${side} answered ${answer.status}: ${text.slice(0, 200)}`,
      )
    return { status: answer.status, text, body: parsed(text) }
  }

  /** A tenant with their own organisation, invited by the operator. */
  async function tenant(name: string): Promise<Tenant> {
    const email = `${name.toLowerCase()}@example.test`
    const invited = await sides.cloud.api('POST', '/auth/sign-up/invitations', { email })
    const { url } = sides.cloud.berth
    const send = (path: string, body: object, headers: Record<string, string> = {}) =>
      fetch(`${url}/api${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', origin: url, ...headers },
        body: JSON.stringify(body),
      })
    const signed = { code: invited.body.data.code, email, password: 'a long password', organization: name }
    const session = await send('/auth/sign-up/complete', signed)
    const cookie = session.headers.getSetCookie()[0]?.split(';')[0] ?? failed(`not signed up: ${await session.text()}`)
    const { data } = (await (await send('/tokens', { name }, { cookie })).json()) as { data: { token: string } }
    const account = await request('cloud', data.token, 'GET', '/auth/session')
    return { organizationId: account.body.data.organization.id, token: data.token }
  }

  const attacker = await tenant('Attacker')
  const greedy = await tenant('Greedy')
  const victim = await tenant('Victim')
  const own = (await sides.here.api('POST', '/tokens', { name: 'attack' })).body.data.token as string
  const linked = await sides.here.api('PUT', '/cloud/link', { url: sides.cloud.berth.url, token: attacker.token })
  if (linked.status !== 200) failed(`not linked: ${JSON.stringify(linked.body)}`)
  const treasure = (
    await request('cloud', victim.token, 'POST', '/projects', {
      body: { name: 'Treasure', gitUrl: 'https://git.example.test/a/b.git' },
    })
  ).body.data as { id: string; slug: string }
  await request('cloud', victim.token, 'PATCH', `/projects/${treasure.id}/env`, {
    body: { upserts: [{ key: 'GOLD', value: 'of the victim', isSecret: false }] },
  })

  return {
    ...{ wrong, random, ask: request, attacker, greedy, victim, treasure, own, pause },
    hereUrl: () => sides.here.berth.url,
    memory: async (side: Side) => `${await peakMb(sides[side].berth.pid)} MB at most`,
    /** Checks that the other tenant's project exists, belongs only to them, and responds. */
    async checkVictim(): Promise<void> {
      const list = await request('cloud', victim.token, 'GET', '/projects')
      const names = (list.body?.data ?? []).map(({ name }: { name: string }) => name)
      if (names.join() !== 'Treasure') wrong.push(`the other tenant has: ${names.join()} (${list.status})`)
      const env = await request('cloud', victim.token, 'GET', `/projects/${treasure.id}/env`)
      if (env.body?.data?.[0]?.value !== 'of the victim') wrong.push(`the other tenant's variable: ${env.text.slice(0, 200)}`)
    },
    /** A kill during an attack leaves moves without a driving client; they are cancelled as a user would do it. */
    async callOffLeft(side: Side, token: string): Promise<void> {
      const { body } = await request(side, token, 'GET', '/transfers')
      for (const { transfer, touchedAt } of (body?.data ?? []) as { transfer: string; touchedAt: string }[])
        if (Date.now() - Date.parse(touchedAt) > 20_000) await request(side, token, 'DELETE', `/transfers/${transfer}`)
    },
    move: (id: string, to: Side) => sides.move(id, to).catch((error: Error) => ({ status: 0, body: error.message })),
    async kill(side: Side): Promise<void> {
      await restarting.get(side)
      await sides[side].berth.kill9()
      const back = sides[side].berth.restart()
      restarting.set(side, back)
      await back
      restarting.delete(side)
    },
    isAway: (error: unknown): boolean =>
      error instanceof TypeError ||
      (error instanceof Error && (/^(Timeout|Abort)Error$/.test(error.name) || /ECONN|socket hang up/.test(error.message))),
    async serving(slug: string): Promise<Side[]> {
      const check = async () =>
        (
          await Promise.all((['here', 'cloud'] as const).map(async (side) => ((await sides.answerOf(side, slug)) ? side : null)))
        ).filter((side) => side !== null)
      for (const giveUpAt = Date.now() + 90_000; ; await pause(250)) {
        const serving = await check()
        if (serving.length === 1 || Date.now() > giveUpAt) return serving
      }
    },
  }
}

interface RequestOptions {
  body?: unknown
  bytes?: Buffer
  headers?: Record<string, string>
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function failed(message: string): never {
  throw new Error(message)
}

function randomOf(seed: number): Random {
  let state = seed >>> 0 || 1
  const below = (limit: number) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * limit)
  }
  return { below, pick: (items) => items[below(items.length)]! }
}

async function peakMb(pid: number): Promise<number> {
  return Math.round(Number(/VmHWM:\s+(\d+)/.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024)
}
