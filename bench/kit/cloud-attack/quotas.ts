import { randomBytes } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import type { Attack, AttackScene } from './scene.ts'

/** A tenant that tries to exceed every quota. */
export function quotaAttacks({ ask: request, attacker, random, wrong, callOffLeft }: AttackScene): Attack[] {
  const by = (method: string, path: string, body?: unknown) =>
    request('cloud', attacker.token, method, path, body === undefined ? {} : { body })
  /** Excludes projects that are being deleted: they are listed, but no longer count. */
  const projects = async () => {
    const { body } = await by('GET', '/projects')
    return ((body?.data ?? []) as { id: string; name: string; status: string }[]).filter(({ status }) => status !== 'deleting')
  }
  return [
    {
      name: 'projects, ten at once',
      async run() {
        await Promise.all(Array.from({ length: 10 }, () => by('POST', '/projects', { name: 'More' })))
        const list = await projects()
        if (list.length > 6) wrong.push(`the tenant has ${list.length} projects; its quota is 6`)
        for (const { id, name } of list) if (name === 'More') await remove(id)
      },
    },
    {
      name: 'cores and memory of every project at once',
      async run() {
        const more = { production: { cpuCores: 4, memoryMb: 60_000 } }
        await Promise.all((await projects()).map(({ id }) => by('PATCH', `/projects/${id}/resources`, more)))
        const { quotas } = (await by('GET', `/organizations/${attacker.organizationId}`)).body?.data ?? {}
        for (const [name, { limit, used }] of Object.entries<{ limit: number | null; used: number }>(quotas ?? {}))
          if (limit !== null && used > limit) wrong.push(`${name}: ${used} used of ${limit}`)
      },
    },
    {
      name: 'upload sessions, twenty at once',
      async run() {
        const opened = await Promise.all(Array.from({ length: 20 }, () => by('POST', '/projects/folder/session', {})))
        const made = opened.filter(({ status }) => status === 201)
        if (made.length > 8) wrong.push(`the tenant has ${made.length} upload sessions; its quota is 8`)
        for (const { body } of made) await send(body.data.upload, random.pick(hostileBodies)())
      },
    },
    {
      name: 'addresses of uploads that were altered',
      async run() {
        const id = `upl_${'a'.repeat(20)}`
        const headers = { 'content-type': 'application/gzip' }
        const query = `expires=9999999999999&maxBytes=9999999999&signature=${'0'.repeat(8)}.${'A'.repeat(43)}`
        const { status } = await request('cloud', '', 'PUT', `/uploads/${id}?${query}`, { bytes: Buffer.from('x'), headers })
        if (status < 400) wrong.push(`an upload to a changed URL was accepted: ${status}`)
      },
    },
    {
      name: 'arrivals that are filled with anything',
      async run() {
        const id = `trf_${randomName()}`
        const opened = await by('PUT', `/arrivals/${id}`, { project: `prj_${randomName()}` })
        if (opened.status !== 200) return callOffLeft('cloud', attacker.token)
        const statuses: number[] = []
        for (let at = 0; at < 12; at += 1) statuses.push(await file(id, `part-${at}`, randomBytes(8_000_000)))
        if (statuses.every((status) => status === 204)) wrong.push('96 MB of an arrival were taken, of 40 that it may have')
        await by('PATCH', `/arrivals/${id}`, { state: random.pick(['staged', 'landed', 'active']), signer: 'A'.repeat(43) })
        await by('PATCH', `/arrivals/${id}`, { state: 'aborted' })
      },
    },
    {
      name: 'signing up again and again',
      async run() {
        const statuses = await Promise.all(
          Array.from({ length: 30 }, (_, at) =>
            request('cloud', '', 'POST', '/auth/sign-up', { body: { email: `a${at}@example.test` } }),
          ),
        )
        if (statuses.some(({ status }) => status < 400)) wrong.push('a user signed up without an invitation')
      },
    },
  ]

  async function remove(id: string): Promise<void> {
    const { status, text } = await by('DELETE', `/projects/${id}`)
    if (status >= 500 && status !== 503) wrong.push(`DELETE answered ${status}: ${text.slice(0, 200)}`)
  }

  async function send(upload: { url: string; method: string; headers: Record<string, string> }, bytes: Buffer): Promise<void> {
    const { pathname, search } = new URL(upload.url)
    await request('cloud', '', upload.method, `${pathname.replace('/api', '')}${search}`, { bytes, headers: upload.headers })
  }

  async function file(id: string, name: string, bytes: Buffer): Promise<number> {
    const { createHash } = await import('node:crypto')
    const sha256 = createHash('sha256').update(bytes).digest('hex')
    const headers = { 'content-type': 'application/octet-stream' }
    return (await request('cloud', attacker.token, 'PUT', `/arrivals/${id}/files/${name}?sha256=${sha256}`, { bytes, headers }))
      .status
  }
}

const hostileBodies: readonly (() => Buffer)[] = [
  () => randomBytes(100_000),
  () => gzipSync(randomBytes(100_000)),
  () => gzipSync(Buffer.alloc(50_000_000)),
  () => gzipSync(randomBytes(100_000)).subarray(0, 50_000),
  () => Buffer.alloc(0),
]

const alphabet = 'abcdefghijklmnopqrstuvwxyz234567'
export const randomName = () => Array.from(randomBytes(20), (byte) => alphabet[byte & 31]).join('')
