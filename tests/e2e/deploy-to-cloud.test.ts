import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Hosting, ownerSignIn, startHosting } from '../kit/hosting.ts'

let hosting: Hosting
beforeAll(async () => {
  hosting = await startHosting({ env: { BERTH_MODE: 'cloud', BERTH_LOG_LEVEL: 'trace' } })
})
afterAll(() => hosting?.[Symbol.asyncDispose]())

test('berth deploy <folder> on a cloud instance uploads to a signed address that is in no log, and prints a URL that answers', async () => {
  const login = ['login', '--email', ownerSignIn.email, '--password-stdin']
  expect(await hosting.cli(login, { input: ownerSignIn.password })).toMatchObject({ code: 0 })
  const { code, stdout, stderr } = await hosting.cli(['deploy', await hosting.copyExample('node')])
  expect({ code, stderr }).toMatchObject({ code: 0 })
  const url = /live at (\S+)/.exec(stdout)?.[1] ?? stdout
  expect((await hosting.get(new URL(url).host)).text).toBe('Hello from Berth\n')

  const { body } = await hosting.api('GET', '/audit-log?limit=100')
  const actions: string[] = body.data.map(({ action }: { action: string }) => action)
  expect(actions).toEqual(expect.arrayContaining(['POST /projects/folder/session', 'PUT /uploads/:sessionId']))
  expect(stdout + stderr + hosting.berth.output()).not.toContain('signature=')
})
