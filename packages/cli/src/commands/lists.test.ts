import { Readable } from 'node:stream'
import { expect, test, vi } from 'vitest'
import { cliFixture } from '../cli-fixture.ts'

const at = '2026-01-31T08:00:00.000Z'
const token = { id: 'tok_1', name: 'ci', lastFour: 'ab12', expiresAt: null, lastUsedAt: null }
const transfer = { transfer: 'trf_1', projectId: 'prj_1', side: 'departure', state: 'packing', createdAt: at, touchedAt: at }
const link = { linked: true, url: 'https://cloud.example', reachable: true, organizationId: 'org_1', tokenExpiresAt: at }
const invitation = { email: 'ann@example.com', expiresAt: at, url: 'https://cloud.example/sign-up/abc' }
const quotas = { projects: { limit: 50, used: 2 } }
const place = { serverId: null, error: null, artifactsBytes: 1000, cacheBytes: 0, cacheMaxBytes: null, disk: null, projects: [] }
const destination = { id: 'bkd_1', name: 'Off site', kind: 'local', config: { path: 'a' }, lastCheck: null }
const policy = { id: 'bkp_1', cronExpression: '@daily', timezone: 'UTC', nextRunAt: null, lastRun: null }
const project = ['--project', `prj_${'a'.repeat(20)}`]

test.each<[string[], string, unknown, string]>([
  [['token', 'list'], 'GET /tokens', [token], 'tok_1  ci    …ab12      never    never'],
  [['project', 'transfers'], 'GET /transfers', [transfer], 'trf_1  prj_1    export     packing'],
  [['project', 'transfers', '--cancel', 'trf_1'], 'DELETE /transfers/trf_1', {}, 'cancelled trf_1'],
  [['cloud', 'link', 'https://cloud.example'], 'PUT /cloud/link', link, 'Linked to https://cloud.example, organisation org_1'],
  [['cloud', 'status'], 'GET /cloud/link', link, 'The cloud is reachable.'],
  [['cloud', 'unlink'], 'DELETE /cloud/link', {}, 'Unlinked.'],
  [['cloud', 'invite', 'ann@example.com'], 'POST /auth/sign-up/invitations', invitation, 'https://cloud.example/sign-up/abc'],
  [['cloud', 'quotas', 'org_1'], 'GET /quotas/org_1', quotas, 'projects: 2 of 50'],
  [['cloud', 'quotas', 'org_1', '--projects', '50'], 'PUT /quotas/org_1', quotas, 'projects: 2 of 50'],
  [['storage', 'clean-up'], 'POST /instance/storage/clean-up', { freedBytes: 1000, places: [place] }, '1.0 kB freed'],
  [['backups', 'destinations', 'list'], 'GET /backup-destinations', [destination], 'bkd_1  Off site'],
  [['backups', 'policies', 'list', ...project], `GET /projects/${project[1]}/backup-policies`, [policy], '@daily (UTC)'],
])('berth %j', async (words, request, data, text) => {
  await using cli = await cliFixture(() => ({ body: { data } }))
  using _input = vi.spyOn(process, 'stdin', 'get').mockReturnValue(Readable.from(['brt_of_the_cloud']) as never)
  const result = await cli.berth(...words)
  expect(result).toMatchObject({ code: 0, stdout: expect.stringContaining(text) })
  expect(cli.requests.map(({ method, path }) => `${method} ${path}`)).toContainEqual(expect.stringContaining(request))
})
