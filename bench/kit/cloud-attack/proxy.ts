import { once } from 'node:events'
import { connect } from 'node:net'
import type { Attack, AttackScene } from './scene.ts'

/** Callers of the local instance who try to reach other tenants' data through its link. */
export function proxyAttacks(scene: AttackScene, mover: { id: string }): Attack[] {
  const { ask: request, attacker, victim, treasure, own, random, wrong } = scene
  const routes = ['', '/env', '/deployments', '/logs', '/resources', '/deletion-preview', '/git', '/domains', '/environments']
  /** The response must contain nothing of the other tenant. */
  const validate = (name: string, { status, text }: { status: number; text: string }, allowed: readonly number[]) => {
    if (text.includes('of the victim') || text.includes(treasure.slug))
      wrong.push(`${name}: the response contains data of the other tenant: ${text.slice(0, 200)}`)
    if (!allowed.includes(status)) wrong.push(`${name}: answered ${status}: ${text.slice(0, 200)}`)
  }
  const refused = [400, 401, 403, 404, 405, 409, 413, 415, 429, 503]

  return [
    {
      name: 'another tenant’s project through the link',
      run: async () =>
        validate(
          'through the link',
          await request('here', own, 'GET', `/projects/${treasure.id}${random.pick(routes)}`),
          [404, 503],
        ),
    },
    {
      name: 'another tenant’s project on the cloud itself',
      run: async () =>
        validate(
          'on the cloud',
          await request('cloud', attacker.token, random.pick(['GET', 'PATCH', 'DELETE']), `/projects/${treasure.id}`, {}),
          refused,
        ),
    },
    {
      name: 'headers that claim another identity',
      run: async () => {
        const headers = {
          'x-organization-id': victim.organizationId,
          'berth-forwarded': random.pick(['1', victim.token]),
          cookie: `berth_session=${victim.token}`,
          'x-forwarded-for': '127.0.0.1',
          'x-forwarded-host': 'localhost',
        }
        validate('with headers', await request('here', own, 'GET', `/projects/${treasure.id}`, { headers }), refused)
      },
    },
    {
      name: 'ids that are other paths',
      run: async () => {
        const id = random.pick([
          '..%2f..%2ftokens',
          '%2e%2e',
          `${treasure.id}%00`,
          `${mover.id}%2f..%2f${treasure.id}`,
          '.',
          '%0d%0aX: y',
          'a'.repeat(5000),
        ])
        validate('odd ids', await request('here', own, 'GET', `/projects/${id}${random.pick(routes)}`), [
          ...refused,
          431,
          200,
          414,
        ])
      },
    },
    {
      name: 'bodies that are no JSON, too deep or too large, for a project that is there',
      run: async () => {
        const text = random.pick(['{', '['.repeat(5000), `{"name":"${'x'.repeat(2_000_000)}"}`, '{"name":1e999}', '\u0000'])
        const headers = { 'content-type': 'application/json' }
        validate(
          'odd bodies',
          await request('here', own, 'PATCH', `/projects/${treasure.id}`, { bytes: Buffer.from(text), headers }),
          refused,
        )
      },
    },
    {
      name: 'streams that no client reads',
      async run() {
        const sockets = Array.from({ length: 10 }, () => rawStream(scene.hereUrl(), own, mover.id))
        await scene.pause(300)
        for (const socket of await Promise.all(sockets)) socket.destroy()
      },
    },
    {
      name: 'linked to an address inside, or to the instance itself, and back',
      async run() {
        const url = random.pick([
          'http://169.254.169.254',
          'http://[::1]:1',
          'file:///etc/passwd',
          'http://127.0.0.1:1',
          scene.hereUrl(),
        ])
        const { status } = await request('here', own, 'PUT', '/cloud/link', { body: { url, token: 'brt_x' } })
        if (status === 200) wrong.push(`linked to ${url}`)
      },
    },
    {
      name: 'what is here answers meanwhile',
      async run() {
        const home = await request('here', own, 'GET', '/projects/home')
        if (home.status !== 200) wrong.push(`home answered ${home.status}`)
        if (home.text.includes('Treasure')) wrong.push('home shows the other tenant’s project')
      },
    },
  ]
}

async function rawStream(url: string, token: string, id: string) {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname).on('error', () => {})
  // A side that was just killed refuses the connection.
  await once(socket, 'connect').catch(() => undefined)
  socket.pause()
  socket.write(`GET /api/projects/${id}/logs/stream HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\n\r\n`)
  return socket
}
