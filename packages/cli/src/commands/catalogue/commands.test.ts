import { describe, expect, test } from 'vitest'
import { cliFixture } from '../../cli-fixture.ts'

const project = { id: `prj_${'a'.repeat(20)}`, slug: 'shop-db', name: 'Shop DB' }
const entry = {
  id: 'redis',
  title: 'Redis',
  version: '8.10.1',
  category: 'caches',
  description: 'A store',
  variables: [],
  services: [],
}

async function run(...words: string[]) {
  await using cli = await cliFixture(({ method }) =>
    method === 'POST'
      ? { status: 201, body: { data: project, warnings: ['shop-db has no backup policy'] } }
      : { body: { data: [entry], nextCursor: null } },
  )
  const result = await cli.berth(...words)
  return { ...result, requests: cli.requests }
}

describe('the catalogue on the command line', () => {
  test('catalogue lists templates, by text and category', async () => {
    const { code, stdout, requests } = await run('catalogue', 'cache', '--category', 'caches')
    expect(code).toBe(0)
    expect(stdout.split('\n')[1]?.split(/ {2,}/)).toEqual(['redis', 'Redis', '8.10.1', 'caches', 'A store'])
    expect(requests.at(-1)?.path).toMatch(/^\/catalogue\?(?=.*search=cache)(?=.*category=caches)/)
  })

  test('add sends name and variables, and prints the project and the warnings', async () => {
    const { code, stdout, stderr, requests } = await run(
      'add',
      'redis',
      '--name',
      'Shop DB',
      '--set',
      'A=b=c',
      '--set',
      'D=',
      '--no-wait',
    )
    expect([code, stdout]).toEqual([0, `created shop-db (${project.id})\n`])
    expect(stderr.split('has no backup policy')).toHaveLength(2)
    expect(requests.at(-1)).toMatchObject({
      path: '/catalogue/redis',
      body: { name: 'Shop DB', variables: { A: 'b=c', D: '' } },
    })
  })

  test('a value without a name is refused', async () => {
    expect((await run('add', 'redis', '--set', '=x', '--no-wait')).code).toBe(2)
  })
})
