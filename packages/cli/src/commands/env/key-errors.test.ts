import { expect, test } from 'vitest'
import { cliFixture } from '../../cli-fixture.ts'

const project = `prj_${'a'.repeat(20)}`
const invalid = (...details: { field: string; message: string }[]) =>
  cliFixture(() => ({
    status: 400,
    body: { code: 'validation_failed', error: `${details[0]?.field}: ${details[0]?.message}`, field: details[0]?.field, details },
  }))

test('berth env set names each variable as it was typed, not its position in the request', async () => {
  await using cli = await invalid(
    { field: 'upserts.1.key', message: 'must be letters' },
    { field: 'upserts.2.value', message: 'is too long' },
  )
  const { code, stderr } = await cli.berth('env', 'set', 'GOOD=1', '2-BAD=x', 'LONG=y', '--project', project)
  expect({ code, stderr }).toEqual({ code: 2, stderr: 'error: 2-BAD: must be letters\n  LONG: is too long\n' })
})

test('an error about the environment keeps its field, as an option', async () => {
  await using cli = await invalid({ field: 'environment', message: 'environment "x" does not exist' })
  const { stderr } = await cli.berth('env', 'set', 'A=1', '--environment', 'x', '--project', project)
  expect(stderr).toContain('field: --environment')
})

test('berth env unset names the variable too', async () => {
  const variable = { key: '2-BAD', value: '', isSecret: false, environment: 'production' }
  const details = [{ field: 'deletes.0', message: 'must be letters' }]
  const body = { code: 'validation_failed', error: 'deletes.0: must be letters', field: 'deletes.0', details }
  await using cli = await cliFixture(({ method }) => (method === 'GET' ? { body: { data: [variable] } } : { status: 400, body }))
  expect((await cli.berth('env', 'unset', '2-BAD', '--project', project)).stderr).toBe('error: 2-BAD: must be letters\n')
})
