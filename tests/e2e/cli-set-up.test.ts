import { execFile } from 'node:child_process'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startBerth } from '../kit/start-berth.ts'
import { tempFolder } from '../kit/temp-folder.ts'

const launcher = join(import.meta.dirname, '..', '..', 'packages', 'cli', 'bin', 'berth.js')

test('berth login --setup creates the first owner of a new instance and signs in; the link works once', async () => {
  await using berth = await startBerth({ env: { BERTH_RUNTIME: 'process', BERTH_LOG_LEVEL: 'warn' } })
  await using home = await tempFolder('home')
  const link = /set up \(once\)\s+(\S+)/.exec(berth.output())?.[1] as string
  const cli = (args: string[], input = '') =>
    new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
      const env = { PATH: process.env.PATH, HOME: home.path, XDG_CONFIG_HOME: home.path }
      const child = execFile(process.execPath, [launcher, ...args], { env, timeout: 180_000 }, (error, stdout, stderr) =>
        resolve({ code: error ? Number(error.code ?? 1) : 0, stdout, stderr }),
      )
      child.stdin?.end(input)
    })
  const signIn = (...args: string[]) =>
    cli(['login', ...args, '--email', 'new@example.test', '--password-stdin'], 'correct horse')

  expect(await signIn('--setup', 'nonsense')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('is not a set-up link'),
  })
  const { code, stdout } = await signIn('--setup', link, '--organization', 'Harbour')
  expect({ code, stdout }).toMatchObject({
    code: 0,
    stdout: expect.stringContaining(`signed in to ${new URL(link).origin} as new@example.test (owner of Harbour)`),
  })
  const file = join(home.path, 'berth', 'credentials.json')
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  expect(await readFile(file, 'utf8')).not.toContain('correct horse')
  expect(await cli(['api', 'GET', '/projects'])).toMatchObject({ code: 0, stdout: expect.stringContaining('"data": []') })
  const origin = new URL(link).origin
  expect((await signIn(link)).code).not.toBe(0)
  expect(await signIn(origin)).toMatchObject({ code: 0, stdout: expect.stringContaining(`signed in to ${origin}`) })
  expect(await signIn('--url', origin)).toMatchObject({ code: 0 })
  expect(await signIn('berth.example.test')).toMatchObject({ code: 2, stderr: expect.stringContaining('is not a URL') })
})

test('berth admin create makes an owner in a data folder; berth secrets rotate replaces its key', async () => {
  await using data = await tempFolder('data')
  const env = { PATH: process.env.PATH, HOME: data.path, XDG_CONFIG_HOME: data.path, BERTH_DATA_DIR: join(data.path, 'berth') }
  const cli = (args: string[], input = '') =>
    new Promise<{ code: number; stdout: string }>((resolve) => {
      const child = execFile(process.execPath, [launcher, ...args], { env, timeout: 180_000 }, (error, stdout) =>
        resolve({ code: error ? Number(error.code ?? 1) : 0, stdout }),
      )
      child.stdin?.end(input)
    })
  const owner = ['--email', 'ada@example.test', '--password-stdin']
  expect(await cli(['admin', 'create', ...owner], 'short')).toMatchObject({ code: 2 })
  expect(await cli(['admin', 'create', ...owner], 'correct horse')).toMatchObject({
    code: 0,
    stdout: 'ada@example.test is an owner and can sign in\n',
  })
  const key = await readFile(join(env.BERTH_DATA_DIR, 'secret-keys.json'), 'utf8')
  expect(await cli(['secrets', 'rotate'])).toMatchObject({ code: 0, stdout: expect.stringContaining('a new key is in use') })
  expect(await readFile(join(env.BERTH_DATA_DIR, 'secret-keys.json'), 'utf8')).not.toBe(key)
})
