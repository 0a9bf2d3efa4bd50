import type { ProjectDomain } from '@berth/contract'
import { describe, expect, test } from 'vitest'
import { cliFixture, type RecordedRequest } from '../cli-fixture.ts'

const id = `prj_${'a'.repeat(20)}`
const shop = 'shop.example.com'
const records: ProjectDomain['records'] = [
  { type: 'CNAME', name: shop, value: 'shop.apps.example.test' },
  { type: 'TXT', name: `_berth.${shop}`, value: 'berth-verify=abc' },
]
const waiting: ProjectDomain = {
  ...{ hostname: shop, kind: 'custom', primary: true, verified: false, state: 'waiting', tls: 'none', records },
  pointsHere: false,
  reason: 'Not verified. Create the TXT record below.',
}
const active: ProjectDomain = { ...waiting, verified: true, pointsHere: true, state: 'active', tls: 'active', reason: null }
const free: ProjectDomain = { ...active, hostname: 'shop.apps.example.test', kind: 'free', primary: false, records: [] }
const route = ({ hostname }: ProjectDomain) => ({ hostname, url: `http://${hostname}:4080` })
const admin = { hostname: 'admin.shop.apps.example.test', url: 'http://admin.shop.apps.example.test', service: 'admin' }
const routes = [route(free), { ...admin, tls: 'none', state: 'synced' }, route(waiting)]

/** Runs `berth domains …` against an instance that answers every call with `data`. */
async function run(words: string[], data: unknown, status = 200) {
  await using cli = await cliFixture(({ method, path }: RecordedRequest) =>
    method === 'GET' && !path.includes('/domains') ? { body: { data: { id, routes } } } : { status, body: { data } },
  )
  const result = await cli.berth('domains', ...words, '--project', id)
  return { ...result, asked: cli.requests.map(({ method, path }) => `${method} ${path}`) }
}

describe('berth domains', () => {
  test('a pasted address counts as its host name', async () => {
    const { asked: requested } = await run(['verify', `https://${shop.toUpperCase()}/cart`], active)
    expect(requested).toEqual([`POST /projects/${id}/domains/${shop}/verify`])
  })

  test('list shows domains and service addresses, and the records of a domain that waits', async () => {
    const { code, stdout, asked: requested } = await run([], [free, waiting])
    expect(code).toBe(0)
    expect(requested).toContain(`GET /projects/${id}/domains?limit=500`)
    expect(stdout.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
      ['ADDRESS', 'KIND', 'STATE', 'CERTIFICATE'],
      ['http://shop.apps.example.test:4080', 'free', 'active', 'active'],
      ['http://shop.example.com:4080', 'custom, primary', 'waiting', 'none', 'Not verified.'],
      ['http://admin.shop.apps.example.test', 'admin', 'active', 'none'],
      [''],
      ['create these records where shop.example.com is managed:'],
      ['TYPE', 'NAME', 'VALUE', 'FOUND'],
      ['CNAME', shop, 'shop.apps.example.test', 'no'],
      ['TXT', `_berth.${shop}`, 'berth-verify=abc', 'no'],
      [''],
    ])
    expect((await run([], [free, active])).stdout).not.toContain('TXT')
    expect(JSON.parse((await run(['list', '--json'], [free, waiting])).stdout)).toEqual([free, waiting])
  })

  test('remove', async () => {
    const { code, stdout, asked: requested } = await run(['remove', shop], undefined)
    expect({ code, stdout, last: requested.at(-1) }).toEqual({
      code: 0,
      stdout: `${shop} is removed\n`,
      last: `DELETE /projects/${id}/domains/${shop}`,
    })
  })

  test('verify ends with 1 and names the records while the domain is not verified', async () => {
    const missing = await run(['verify', shop], waiting)
    expect(missing).toMatchObject({
      code: 1,
      stderr: 'error: Not verified. Create the TXT record below.\n',
      stdout: expect.stringContaining('berth-verify=abc'),
    })
    expect(missing.asked.at(-1)).toBe(`POST /projects/${id}/domains/${shop}/verify`)
    expect(await run(['verify', shop], active)).toMatchObject({ code: 0, stdout: `${shop} is verified\n`, stderr: '' })
    const reason = `${shop} does not resolve yet`
    const unresolved = await run(['verify', shop], { ...active, pointsHere: false, tls: 'none', reason })
    expect(unresolved).toMatchObject({ code: 0, stdout: `${shop} is verified\n`, stderr: `${reason}\n` })
  })

  test('list says when the records lead other machines to themselves', async () => {
    const hint = '127.0.0.1 is reachable only from this machine. Set BERTH_PUBLIC_ADDRESS to the public address of the server'
    expect((await run([], [free, { ...waiting, reason: `Not verified. ${hint}` }])).stdout).toContain(`\n${hint}\n`)
    expect((await run([], [free, waiting])).stdout).not.toContain('reachable')
  })

  test('primary says that the address follows when the domain is active', async () => {
    const { code, stdout, stderr, asked: requested } = await run(['primary', shop], waiting)
    expect({ code, stdout, last: requested.at(-1) }).toEqual({
      code: 0,
      stdout: `${shop} is the primary domain\n`,
      last: `POST /projects/${id}/domains/${shop}/primary`,
    })
    expect(stderr).toContain('once it is verified and served')
    expect((await run(['primary', shop], active)).stderr).toBe('')
  })
})
