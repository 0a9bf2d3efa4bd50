import { expect, test } from 'vitest'
import { cliFixture } from '../cli-fixture.ts'

const id = `prj_${'a'.repeat(20)}`
const volume = {
  ...{ id: `vol_${'b'.repeat(20)}`, name: 'data', environment: 'production' },
  ...{ sizeBytes: 2048, mountPath: null, restoredFrom: null },
}
const answer = ({ method }: { method: string }) =>
  method === 'DELETE' ? { status: 204 } : { body: { data: [volume], nextCursor: null } }

test('a project without volumes names the option that adds one', async () => {
  await using cli = await cliFixture(() => ({ body: { data: [], nextCursor: null } }))
  expect((await cli.berth('volumes', 'list', '--project', id)).stdout).toContain('berth deploy --volume')
})

test('a volume is unmounted by its name; the other ones stay', async () => {
  const volumes = [
    { name: 'data', mountPath: '/data' },
    { name: 'cache', mountPath: '/cache' },
  ]
  await using cli = await cliFixture(() => ({ body: { data: { id, name: 'Shop', config: { volumes } } } }))
  expect(await cli.berth('volumes', 'unmount', 'logs', '--project', id)).toMatchObject({ code: 5 })
  const unmounted = await cli.berth('volumes', 'unmount', 'data', '--project', id)
  expect(unmounted).toMatchObject({ code: 0 })
  expect(unmounted.stdout).toContain('The next deployment no longer mounts data')
  expect(cli.requests.at(-1)).toMatchObject({ method: 'PATCH', body: { volumes: [volumes[1]] } })
})

test('volumes are listed, and one is removed by its name with --yes only', async () => {
  await using cli = await cliFixture(answer)
  const listed = await cli.berth('volumes', 'list', '--project', id)
  expect(listed.stdout.split('\n')[1]?.split(/ {2,}/)).toEqual([volume.id, 'data', 'production', '2.0 kB', 'not mounted'])
  expect(await cli.berth('volumes', 'remove', 'data', '--project', id)).toMatchObject({ code: 2 })
  expect(cli.requests.filter(({ method }) => method === 'DELETE')).toEqual([])
  const removed = await cli.berth('volumes', 'remove', 'data', '--yes', '--project', id)
  expect(removed).toMatchObject({ code: 0, stdout: `data (${volume.id}) is deleted\n` })
  expect(cli.requests.at(-1)).toMatchObject({ method: 'DELETE', path: `/projects/${id}/volumes/${volume.id}` })
})
