import { expect, test } from 'vitest'
import { cliFixture } from '../../cli-fixture.ts'

test('berth git link in a folder without a project says which command creates one', async () => {
  await using cli = await cliFixture()
  for (const args of [[], ['acme/shop']])
    expect(await cli.berth('git', 'link', ...args)).toMatchObject({
      code: 2,
      stderr: 'error: This folder is not linked to a project. Run berth init first, or name a project with --project.\n',
    })
  expect(cli.requests).toEqual([])
})
