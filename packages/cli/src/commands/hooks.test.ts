import type { DeployHook } from '@berth/contract'
import { describe, expect, test } from 'vitest'
import { cliFixture } from '../cli-fixture.ts'

const id = `prj_${'a'.repeat(20)}`
const hook = (name: string, letter: string): DeployHook => ({
  ...{ id: `hok_${letter.repeat(20)}`, name, branch: null, environment: 'production' },
  ...{ lastUsedAt: null, createdAt: '2026-01-01T00:00:00.000Z' },
})
const [ci, nightly, second] = [hook('ci', 'b'), hook('nightly', 'c'), hook('nightly', 'd')]
const url = 'http://berth.test/api/hooks/deploy/dph_secret'

async function run(...words: string[]) {
  await using cli = await cliFixture(({ method }) =>
    method === 'POST' ? { status: 201, body: { data: { ...ci, url } } } : { body: { data: [ci, nightly, second] } },
  )
  const result = await cli.berth('hooks', ...words, '--project', id)
  return { ...result, requests: cli.requests }
}

describe('berth hooks', () => {
  test('list shows hooks without URLs', async () => {
    const { code, stdout } = await run('list')
    expect(code).toBe(0)
    expect(stdout.split('\n')[1]?.split(/ {2,}/)).toEqual([ci.id, 'ci', 'production', 'never'])
  })

  test('add prints the URL alone on standard output', async () => {
    const { stdout, requests } = await run('add', 'ci', '--branch', 'main', '--environment', 'staging')
    expect(stdout).toBe(`${url}\n`)
    expect(requests.at(-1)?.body).toEqual({ name: 'ci', branch: 'main', environment: 'staging' })
  })

  test('remove takes a name or an id, and refuses an unknown or ambiguous name', async () => {
    for (const ref of ['ci', ci.id]) {
      const { code, requests } = await run('remove', ref)
      expect([code, requests.at(-1)?.method, requests.at(-1)?.path]).toEqual([
        0,
        'DELETE',
        `/projects/${id}/deploy-hooks/${ci.id}`,
      ])
    }
    expect((await run('remove', 'other')).code).toBe(5)
    expect((await run('remove', 'nightly')).code).toBe(2)
  })
})
