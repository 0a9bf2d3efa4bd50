import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseEnv } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startGitServer } from '../kit/git-server.ts'
import { type Hosting, ownerSignIn, serving, startHosting, writeApp } from '../kit/hosting.ts'

const launcher = join(import.meta.dirname, '..', '..', 'packages', 'cli', 'bin', 'berth.js')

/** Writes a line at the start, and one for each request. */
const talking = `
import { createServer } from 'node:http'
const server = createServer((request, response) => {
  console.log(request.url)
  response.end('hello')
}).listen(process.env.PORT, process.env.HOST)
console.log('it starts')
process.on('SIGTERM', () => { server.close(() => process.exit(0)); server.closeIdleConnections() })
`

describe('berth, each command', () => {
  let hosting: Hosting
  let folder: string
  beforeAll(async () => {
    hosting = await startHosting()
    const login = ['login', '--email', ownerSignIn.email, '--password-stdin']
    expect(await hosting.cli(login, { input: ownerSignIn.password })).toMatchObject({ code: 0 })
    folder = join(hosting.folder, 'talker')
    await writeApp(folder, talking)
  })
  afterAll(() => hosting?.[Symbol.asyncDispose]())

  const berth = (...args: string[]) => hosting.cli(args, { cwd: folder })
  const page = async (url: string) => (await hosting.get(new URL(url).host)).text

  test('berth init creates a project for the folder without deploying it; a second call fails', async () => {
    const made = await berth('init', '--name', 'Talker', '--json')
    expect(made).toMatchObject({ code: 0 })
    const project = JSON.parse(made.stdout)
    expect(project).toMatchObject({ name: 'Talker', slug: 'talker', status: 'created' })
    expect(JSON.parse(await readFile(join(folder, '.berth', 'project.json'), 'utf8'))).toEqual({
      projectId: project.id,
      url: hosting.berth.url,
    })
    expect(await berth('init')).toMatchObject({
      code: 6,
      stderr: expect.stringContaining(`is already linked to project ${project.id}`),
    })
  })

  test('berth init --project links a second folder; an unknown project is an error', async () => {
    const other = join(hosting.folder, 'other')
    await writeApp(other, talking)
    const { projectId } = JSON.parse(await readFile(join(folder, '.berth', 'project.json'), 'utf8'))
    expect(await hosting.cli(['init', '--project', projectId], { cwd: other })).toMatchObject({ code: 0 })
    expect(JSON.parse(await readFile(join(other, '.berth', 'project.json'), 'utf8'))).toMatchObject({ projectId })
    expect(await hosting.cli(['init', '--project', 'prj_aaaaaaaaaaaaaaaaaaaa'], { cwd: other })).toMatchObject({ code: 5 })
  })

  test('berth open before the first deployment prints the future address and says that it does not exist yet', async () => {
    expect(await berth('open')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^http:\/\/talker\.localhost:\d+\n$/),
      stderr: expect.stringContaining('it is created'),
    })
  })

  test('berth deploy shows each step when it begins, the build output, and then the address', async () => {
    await writeFile(
      join(folder, 'package.json'),
      JSON.stringify({ name: 'app', type: 'module', scripts: { build: 'node build.js', start: 'node server.js' } }),
    )
    // The build continues only after its first line was seen here: this proves that the line was shown during the build.
    const firstLine = Promise.withResolvers<void>()
    const gate = createServer((_, response) => void firstLine.promise.then(() => response.end())).listen(0, '127.0.0.1')
    await once(gate, 'listening')
    const { port } = gate.address() as AddressInfo
    const wait = `await fetch('http://127.0.0.1:${port}/')`
    await writeFile(join(folder, 'build.js'), `console.log('half way')\n${wait}\nconsole.log('all the way')`)
    let output = ''
    const child = run(['deploy'], (text) => {
      output += text
      if (output.includes('half way')) firstLine.resolve()
    })
    expect(await child.ended).toBe(0)
    gate.close()
    const order = ['▸ fetch', '▸ plan', '▸ build', 'half way', 'all the way', '▸ start', '▸ health', '▸ switch', 'live at http']
    expect(order.filter((message) => !output.includes(message))).toEqual([])
    expect(order.toSorted((left, right) => output.indexOf(left) - output.indexOf(right))).toEqual(order)
  })

  test('berth logs -f prints the last lines and then new lines', async () => {
    const url = (await berth('open')).stdout.trim()
    await expect.poll(async () => (await berth('logs')).stdout).toContain('it starts')
    let output = ''
    const child = run(['logs', '-f', '--tail', '5'], (text) => {
      output += text
    })
    try {
      await expect.poll(() => output).toContain('it starts')
      await hosting.get(new URL(url).host, '/later')
      await expect.poll(() => output).toContain('/later')
      await hosting.get(new URL(url).host, '/later-still')
      await expect.poll(() => output).toContain('/later-still')
      expect(output.match(/\/later$/gm)).toHaveLength(1)
    } finally {
      child.stop()
      await child.ended
    }
    expect((await berth('logs', '--search', 'later-still', '--json')).stdout.trim().split('\n')).toHaveLength(1)
  })

  test('berth env sets, lists and removes; a secret is masked', async () => {
    expect(await berth('env', 'set', 'PLAIN=a b=c')).toMatchObject({ code: 0 })
    expect(await berth('env', 'set', 'HIDDEN=canary', '--secret')).toMatchObject({
      code: 0,
      stdout: expect.not.stringContaining('canary'),
    })
    const { stdout } = await berth('env', 'list')
    expect(stdout).toContain('PLAIN   a b=c')
    expect(stdout).toMatch(/HIDDEN {2}•+\n/)
    expect(stdout).not.toContain('canary')
    expect(await berth('env', 'unset', 'PLAIN')).toMatchObject({ code: 0, stdout: expect.stringContaining('removed PLAIN') })
    expect((await berth('env', 'list')).stdout).not.toContain('PLAIN')
    expect(await berth('env', 'unset', 'PLAIN')).toMatchObject({
      code: 5,
      stderr: expect.stringContaining('Variable PLAIN does not exist'),
    })
    expect(await berth('env', 'set', 'no-pair')).toMatchObject({ code: 2 })
  })

  test('a warning of a deployment is printed once', async () => {
    const site = join(hosting.folder, 'warned')
    await mkdir(site)
    await writeFile(join(site, 'index.html'), 'a site')
    await writeFile(join(site, 'vercel.json'), JSON.stringify({ crons: [{ path: '/', schedule: '0 0 * * *' }] }))
    const { code, stderr } = await hosting.cli(['deploy', site])
    expect({ code, said: stderr.match(/^.*cron.*$/gm) }).toEqual({ code: 0, said: [expect.stringMatching(/^ *Warning: /)] })
  })

  test('a Dockerfile without Docker, and a missing root directory, are errors with a remedy', async () => {
    const boxed = join(hosting.folder, 'boxed')
    await mkdir(join(boxed, 'apps', 'web'), { recursive: true })
    await writeFile(join(boxed, 'Dockerfile'), 'FROM scratch\n')
    await writeFile(join(boxed, 'apps', 'web', 'index.html'), 'a site')
    const docker = await hosting.cli(['deploy', boxed])
    expect(docker).toMatchObject({ code: 1, stderr: expect.stringMatching(/needs Docker.*Install Docker/) })
    const missing = await hosting.cli(['deploy', boxed, '--root-directory', 'apps/wbe'])
    expect(missing).toMatchObject({ code: expect.any(Number), stderr: expect.stringMatching(/apps\/wbe.*apps\/web/s) })
    expect(missing.code).not.toBe(0)
    expect(await hosting.cli(['deploy', boxed, '--root-directory', 'apps/web'])).toMatchObject({ code: 0 })
  })

  test('berth rollback returns to the previous deployment or to the given number', async () => {
    const url = (await berth('open')).stdout.trim()
    for (const text of ['second', 'third']) {
      await writeApp(folder, serving(text))
      expect(await berth('deploy')).toMatchObject({ code: 0 })
    }
    expect(await page(url)).toBe('third')
    expect(await berth('rollback')).toMatchObject({ code: 0, stdout: expect.stringContaining('deployment 2 is live again as 4') })
    expect(await page(url)).toBe('second')
    expect(await berth('rollback', '1')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('deployment 1 is live again as 5'),
    })
    expect(await page(url)).toBe('hello')
    expect(await berth('rollback', '77')).toMatchObject({
      code: 5,
      stderr: expect.stringContaining('Deployment 77 does not exist'),
    })
  })

  test('berth env push sets variables from a file; pull writes them without secrets and never overwrites a file without --force', async () => {
    const value = `it's "quoted" #5 $HOME`
    await writeFile(join(folder, '.env.in'), `A=1\nB=\`${value}\`\n`)
    expect(await berth('env', 'push', '.env.in')).toMatchObject({ code: 0, stdout: expect.not.stringContaining('quoted') })
    expect(await berth('env', 'pull', '.env.out')).toMatchObject({ code: 0, stdout: expect.stringContaining('1 are secret') })
    const written = await readFile(join(folder, '.env.out'), 'utf8')
    expect(parseEnv(written)).toEqual({ A: '1', B: value })
    expect(written).toContain('# HIDDEN=')
    expect(await berth('env', 'pull', '.env.out')).toMatchObject({ code: 6, stderr: expect.stringContaining('--force') })
    await Promise.all(['.env.in', '.env.out'].map((name) => rm(join(folder, name))))
  })

  test('berth list, status, deployments and whoami show the current state, also in a subfolder', async () => {
    const inside = join(folder, 'deep', 'inside')
    await mkdir(inside, { recursive: true })
    const from = (...args: string[]) => hosting.cli(args, { cwd: inside })
    expect(await from('list')).toMatchObject({ code: 0, stdout: expect.stringMatching(/Talker +live +local +http:\/\/talker/) })
    expect(await from('status')).toMatchObject({ code: 0, stdout: expect.stringMatching(/status +live/) })
    const { stdout } = await from('deployments', '--json')
    expect(JSON.parse(stdout)[0]).toMatchObject({ number: 5, status: 'live', trigger: 'rollback' })
    expect(await from('whoami')).toMatchObject({ code: 0, stdout: expect.stringContaining('owner of') })
    expect(await from('domains')).toMatchObject({ code: 0, stdout: expect.stringContaining('talker.localhost') })
    expect(await from('logs', '--build', '--deployment', '1')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('half way'),
    })
    expect(await from('logs', '--service', 'nope')).toMatchObject({ code: 5, stderr: expect.stringContaining('nope') })
    expect(await from('logs', '--since', 'yesterday')).toMatchObject({ code: 2, stderr: expect.stringContaining('--since') })
  })

  test('berth restart restarts the live version without a build; redeploy builds it', async () => {
    expect(await berth('restart')).toMatchObject({ code: 0, stderr: expect.not.stringContaining('half way') })
    expect(await berth('redeploy', '3')).toMatchObject({ code: 0, stdout: expect.stringContaining('live at') })
    expect(await berth('cancel')).toMatchObject({ code: 5 })
  })

  test('berth sleep sets the sleep mode', async () => {
    const sleepMode = async () => JSON.parse((await berth('status', '--json')).stdout).config.sleepMode
    expect(await berth('sleep', 'auto')).toMatchObject({ code: 0, stdout: expect.stringContaining('the next request wakes it') })
    expect(await sleepMode()).toBe('auto_sleep')
    expect(await berth('sleep', 'never')).toMatchObject({ code: 0, stdout: 'the project never sleeps\n' })
    expect(await sleepMode()).toBe('always_on')
    expect(await berth('sleep', 'later')).toMatchObject({ code: 2, stderr: expect.stringContaining('auto, never') })
  })

  test('berth deploy --git deploys the branch of the project, another branch, or one commit', async () => {
    await using git = await startGitServer()
    const gitUrl = await git.createRepository('team/app')
    const commit = (text: string, branch: string) =>
      git.commit('team/app', { 'index.html': text }, { branch, message: `says ${text}` })
    const first = await commit('first', 'main')
    await commit('second', 'main')
    await commit('beside', 'beside')
    const { id, slug } = await hosting.makeProject({ name: 'Pulled', gitProvider: 'git', gitUrl })
    const clone = join(hosting.folder, 'clone')
    await mkdir(clone)
    const there = (...args: string[]) => hosting.cli(args, { cwd: clone })
    expect(await there('deploy', '--git')).toMatchObject({ code: 2, stderr: expect.stringContaining('berth git link') })
    expect(await there('init', '--project', id)).toMatchObject({ code: 0 })
    const shows = async () => (await hosting.get(`${slug}.localhost`)).text
    expect(await there('deploy', '--git')).toMatchObject({ code: 0, stdout: expect.stringContaining('live at') })
    expect(await shows()).toBe('second')
    expect(await there('deploy', '--git', '--commit', first)).toMatchObject({ code: 0 })
    expect(await shows()).toBe('first')
    expect(await there('deploy', '--git', '--branch', 'beside')).toMatchObject({ code: 0 })
    expect(await shows()).toBe('beside')
    expect(await there('deploy', '--git', '--branch', 'nowhere')).toMatchObject({ stderr: expect.stringContaining('nowhere') })
    expect(await shows()).toBe('beside')
    expect(await there('deploy', '--branch', 'main')).toMatchObject({ code: 2, stderr: expect.stringContaining('need --git') })
  })

  test('berth.json sets options, command-line options override it, and an unknown key is an error', async () => {
    await writeFile(
      join(folder, 'berth.json'),
      JSON.stringify({ rollbackWindow: 3, resources: { production: { memoryMb: 300 } } }),
    )
    expect(await berth('deploy', '--start-command', 'node server.js')).toMatchObject({ code: 0 })
    const { stdout } = await berth('status', '--json')
    expect(JSON.parse(stdout).config).toMatchObject({
      rollbackWindow: 3,
      startCommand: 'node server.js',
      resources: { production: { memoryMb: 300 } },
    })
    expect(await berth('deploy', '--port', '99999')).toMatchObject({ code: 2, stderr: expect.stringContaining('--port') })
    await writeFile(join(folder, 'berth.json'), JSON.stringify({ prot: 3000 }))
    expect(await berth('deploy')).toMatchObject({ code: 2, stderr: expect.stringContaining('unknown setting prot') })
    await rm(join(folder, 'berth.json'))
    const schema = await (await fetch(`${hosting.berth.url}/api/berth.schema.json`)).json()
    expect(schema).toMatchObject({
      title: 'berth.json',
      anyOf: [{ properties: { port: { maximum: 65_535 } }, additionalProperties: false }, { required: ['projects'] }],
    })
  })

  test('Ctrl-C stops watching a deployment without cancelling it, and prints the cancel command; the live version keeps serving', async () => {
    const endless = `node -e "console.log('for ever'); setInterval(() => {}, 1000)"`
    await writeFile(
      join(folder, 'package.json'),
      JSON.stringify({ name: 'app', type: 'module', scripts: { build: endless, start: 'node server.js' } }),
    )
    let output = ''
    const atWork = Promise.withResolvers<void>()
    const child = run(['deploy'], (text) => {
      output += text
      if (/^ {2}for ever$/m.test(output)) atWork.resolve()
    })
    await atWork.promise
    child.stop('SIGINT')
    expect(await child.ended).toBe(130)
    const [, id = ''] = /the deployment continues; cancel it with: berth cancel (dep_\w+)/.exec(output) ?? []
    expect(await hosting.deployment(id)).toMatchObject({ status: 'building' })
    expect(await berth('cancel', id)).toMatchObject({ code: 0, stdout: expect.stringContaining('is cancelled') })
    expect(await berth('status')).toMatchObject({ code: 0, stdout: expect.stringMatching(/status +live/) })
  })

  test('a closed pipe ends the command without an error; an unreachable instance is exit code 7', async () => {
    const home = join(hosting.folder, '..', 'home')
    const env = { PATH: process.env.PATH, HOME: home, XDG_CONFIG_HOME: join(home, 'config') }
    const pipe = `"${process.execPath}" "${launcher}" logs --tail 5000 --json | true; echo "\${PIPESTATUS[0]}"`
    expect(await bashSays(pipe, { cwd: folder, env })).toBe('0\n')
    const unreachable = { BERTH_URL: 'http://127.0.0.1:9', BERTH_TOKEN: 'brt_unknown' }
    expect(
      await bashSays(`"${process.execPath}" "${launcher}" list 2>/dev/null; echo $?`, { env: { ...env, ...unreachable } }),
    ).toBe('7\n')
  })

  test('completion scripts contain every command', async () => {
    const bash = (await berth('completion', 'bash')).stdout
    expect(bash).toContain('deployments')
    const request = `${bash}\nCOMP_WORDS=(berth env pu); COMP_CWORD=2; _berth; echo "\${COMPREPLY[@]}"`
    expect((await bashSays(request)).trim()).toBe('pull push')
    expect((await berth('completion', 'fish')).stdout).toContain('complete -c berth')
    expect((await berth('completion', 'zsh')).stdout).toContain('#compdef berth')
  })

  test('berth delete requires --yes, and unlinks the folder', async () => {
    expect(await berth('delete')).toMatchObject({ code: 2, stderr: expect.stringContaining('--yes') })
    expect(await berth('delete', '--yes')).toMatchObject({ code: 0, stderr: expect.stringMatching(/delete +instance/) })
    expect(await berth('status')).toMatchObject({ code: 2, stderr: expect.stringContaining('not linked to a project') })
    expect(await berth('unlink')).toMatchObject({ code: 5 })
  })

  test('berth logout revokes the token and removes it from the machine', async () => {
    expect(await berth('logout')).toMatchObject({ code: 0, stdout: expect.stringContaining('signed out of') })
    expect(await berth('list')).toMatchObject({ code: 3 })
  })

  /** Runs a command and passes on its output while it runs. */
  function run(args: readonly string[], onText: (text: string) => void) {
    const home = join(hosting.folder, '..', 'home')
    const env = { PATH: process.env.PATH, HOME: home, XDG_CONFIG_HOME: join(home, 'config'), BERTH_URL: hosting.berth.url }
    const child = spawn(process.execPath, [launcher, ...args], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', onText)
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
    void pause(120_000, undefined, { ref: false }).then(() => child.kill())
    return { ended, stop: (signal?: NodeJS.Signals) => child.kill(signal) }
  }
})

/** The output of a bash command, stdout and stderr. */
async function bashSays(line: string, options: { cwd?: string; env?: NodeJS.ProcessEnv } = {}): Promise<string> {
  const child = spawn('bash', ['-c', line], { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
  const parts = await Promise.all([child.stdout, child.stderr].map((stream) => stream.setEncoding('utf8').toArray()))
  return parts.flat().join('')
}
