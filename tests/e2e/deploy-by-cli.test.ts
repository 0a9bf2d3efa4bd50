import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Hosting, ownerSignIn, startHosting } from '../kit/hosting.ts'
import { describeOnRuntimes } from '../kit/runtimes.ts'

describeOnRuntimes('the berth command line', (runtime) => {
  let hosting: Hosting
  let folder: string
  beforeAll(async () => {
    hosting = await startHosting({ runtime })
    folder = await hosting.copyExample('node')
    const login = ['login', '--email', ownerSignIn.email, '--password-stdin']
    expect(await hosting.cli(login, { input: ownerSignIn.password })).toMatchObject({ code: 0 })
  })
  afterAll(() => hosting?.[Symbol.asyncDispose]())

  const page = async (url: string) => (await hosting.get(new URL(url).host)).text
  const urlIn = (message: string) => /live at (\S+)/.exec(message)?.[1] ?? message

  test('berth deploy <folder> prints a URL that answers', async () => {
    const { code, stdout, stderr } = await hosting.cli(['deploy', folder])
    expect({ code, stderr }).toMatchObject({ code: 0 })
    expect(stderr).toContain('▸ health')
    expect(await page(urlIn(stdout))).toBe('Hello from Berth\n')
  })

  test('berth open prints the URL, and berth logs the output of the project', async () => {
    const { stdout } = await hosting.cli(['open'], { cwd: folder })
    expect(await page(stdout.trim())).toBe('Hello from Berth\n')
    await expect.poll(async () => (await hosting.cli(['logs'], { cwd: folder })).stdout).toMatch(/listening on \d+\n.*GET \//)
  })

  test('berth env set takes effect with the next deployment, and berth rollback restores the old variables', async () => {
    expect(await hosting.cli(['env', 'set', 'GREETING=Ahoy "$HOME" # now'], { cwd: folder })).toMatchObject({ code: 0 })
    const url = (await hosting.cli(['open'], { cwd: folder })).stdout.trim()
    expect(await page(url)).toBe('Hello from Berth\n')
    expect(await hosting.cli(['deploy', folder])).toMatchObject({ code: 0 })
    expect(await page(url)).toBe('Ahoy "$HOME" # now\n')
    const back = await hosting.cli(['rollback'], { cwd: folder })
    expect(back).toMatchObject({ code: 0, stdout: expect.stringContaining('deployment 1 is live again as 3') })
    expect(await page(url)).toBe('Hello from Berth\n')
  })

  test('berth run passes variables and piped input to a program, and returns its output byte for byte and its exit code', async () => {
    const script = `process.stdin.on('data', (chunk) => process.stdout.write(String(chunk).toUpperCase()))
      .on('end', () => { console.error(process.cwd() !== '/' && process.env.GREETING); process.exitCode = 17 })`
    const ran = await hosting.cli(['run', '--', 'node', '-e', script], { cwd: folder, input: 'one\ntwo' })
    expect(ran).toEqual({ code: 17, stdout: 'ONE\nTWO', stderr: 'undefined\n' })
    const missing = await hosting.cli(['exec', '--', 'no-such-program'], { cwd: folder })
    expect(missing).toMatchObject({ code: expect.toSatisfy((code) => code === 126 || code === 127) })
  })

  test('a failed deployment is a failed command with the reason and the last lines', async () => {
    const { code, stdout, stderr } = await hosting.cli(['env', 'set', 'NODE_OPTIONS=--require=/nowhere.js'], { cwd: folder })
    expect({ code, stdout, stderr }).toMatchObject({ code: 0 })
    const failed = await hosting.cli(['deploy', folder])
    expect(failed.code).not.toBe(0)
    expect(failed.stderr).toContain('deployment 4 failed: ')
    expect(failed.stderr).toContain('/nowhere.js')
    expect(failed.stderr).toContain('deployment 3 still serves requests')
    expect(await page((await hosting.cli(['open'], { cwd: folder })).stdout.trim())).toBe('Hello from Berth\n')
  })
})
