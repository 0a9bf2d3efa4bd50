import { describe, expect, test } from 'vitest'
import { cliFixture } from '../../cli-fixture.ts'

const [shop, database] = ['a', 'b'].map((letter) => `prj_${letter.repeat(20)}`) as [string, string]
const link = {
  id: 'lnk_one',
  projectId: shop,
  environment: 'production',
  serviceProjectId: database,
  service: { name: 'Main database', slug: 'postgres' },
  prefix: null,
  host: 'postgres.berth.internal',
  variables: ['DATABASE_URL', 'PGHOST'],
}
const home = {
  data: [
    { id: shop, slug: 'shop', name: 'Shop' },
    { id: database, slug: 'postgres', name: 'Main database' },
  ],
  cloud: { linked: false, reachable: false },
}

async function run(...words: string[]) {
  await using cli = await cliFixture(({ method, path }) => {
    if (path === '/projects/home') return { body: home }
    if (path.endsWith('/restart')) return { status: 409, body: { error: 'Nothing is live', code: 'nothing_to_restart' } }
    if (method === 'POST') return { status: 201, body: { data: link, warnings: ['PGHOST is replaced'] } }
    if (method === 'DELETE') return { status: 204, body: undefined }
    return { body: { data: [link], nextCursor: null } }
  })
  const result = await cli.berth(...words)
  return { ...result, requests: cli.requests.filter(({ path }) => path !== '/projects/home') }
}

describe('links on the command line', () => {
  test('link names both projects by slug, restarts the project, and prints the variables', async () => {
    const { code, stdout, stderr, requests } = await run('link', 'shop', 'postgres', '--prefix', 'MAIN_')
    expect([code, stdout]).toEqual([0, 'linked to postgres: DATABASE_URL, PGHOST; the next deployment gets them\n'])
    expect(stderr).toContain('PGHOST is replaced')
    expect(requests.map(({ method, path, body }) => [method, path, body])).toEqual([
      ['POST', `/projects/${shop}/links`, { serviceProjectId: database, prefix: 'MAIN_' }],
      ['POST', `/projects/${shop}/restart`, { environment: 'production' }],
    ])
  })

  test('link --no-restart leaves the running version alone', async () => {
    const { requests } = await run('link', 'Shop', 'Main database', '--no-restart', '--environment', 'staging')
    expect(requests.map(({ path, body }) => [path, body])).toEqual([
      [`/projects/${shop}/links`, { serviceProjectId: database, environment: 'staging' }],
    ])
  })

  test('links lists services with host and variables', async () => {
    const { code, stdout } = await run('links', '--project', 'shop')
    expect(code).toBe(0)
    expect(stdout.split('\n')[1]?.split(/ {2,}/)).toEqual([
      'postgres',
      'production',
      'postgres.berth.internal',
      'DATABASE_URL, PGHOST',
    ])
  })

  test('unlink deletes the link to the service; one of another environment is named', async () => {
    const { code, stdout, requests } = await run('unlink', 'shop', 'postgres')
    expect([code, stdout]).toEqual([0, 'unlinked from postgres; the next deployment loses its variables\n'])
    expect(requests.at(-1)).toMatchObject({ method: 'DELETE', path: `/projects/${shop}/links/lnk_one` })
    const other = await run('unlink', 'shop', 'postgres', '--environment', 'staging')
    expect([other.code, other.stderr]).toEqual([5, expect.stringContaining('Others: --environment production.')])
    expect((await run('unlink', 'shop')).code).toBe(2)
  })
})
