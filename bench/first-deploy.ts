import { execFile } from 'node:child_process'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type Daemon, startDaemon } from '../tests/kit/daemon.ts'
import { freePorts } from '../tests/kit/free-port.ts'
import { getPage, runtimeFolder } from '../tests/kit/hosting.ts'
import { lookUp } from '../tests/kit/machine.ts'
import { dockerRemover, settingsFor } from '../tests/kit/runtimes.ts'
import { tempFolder } from '../tests/kit/temp-folder.ts'
import { table } from './kit/table.ts'

/**
 * node bench/first-deploy.ts: follows the README literally, as a new user would. A clone of HEAD, `npm run up`, and from a second
 * terminal `npx berth login` and `npx berth deploy examples/node`, first without Docker, then with it. Exits with 1 unless each
 * printed address responds.
 */
const root = join(import.meta.dirname, '..')
const person = { email: 'newcomer@example.test', password: 'correct horse battery' }

await using folder = await tempFolder('first-deploy')
const clone = join(folder.path, 'berth')
const rows: (string | number)[][] = []

await timed('git clone', '', () => run('git', ['clone', '--quiet', '--no-hardlinks', root, clone], folder.path))
await follow('no Docker', { BERTH_DOCKER_SOCKET: join(folder.path, 'no-docker.sock') }, ['node', 'python', 'static'])
const docker = lookUp('docker')
if ('reason' in docker) console.log(`the part with Docker is skipped: ${docker.reason}`)
else {
  const { BERTH_RUNTIME: _auto, ...settings } = settingsFor('docker')
  const mirror = settings.BERTH_BASE_IMAGE_NODE?.split('/')[0]
  await follow('Docker', { ...settings, ...(mirror ? { BERTH_IMAGE_MIRROR: mirror } : {}) }, ['node', 'compose'])
}
console.log(table(['step', 'where', 'seconds'], rows))

async function follow(where: string, settings: NodeJS.ProcessEnv, examples: readonly string[]): Promise<void> {
  const dataFolder = join(folder.path, `data-${rows.length}`)
  const home = join(folder.path, `home-${rows.length}`)
  await mkdir(home)
  const [port, edgePort] = await freePorts(2)
  const own = { BERTH_PORT: String(port), BERTH_EDGE_PORT: String(edgePort), BERTH_DATA_DIR: dataFolder }
  const env = { ...process.env, ...own, ...settings }
  const up = await timed('npm run up, until it is ready', where, () => start(env))
  try {
    const link = /set up \(once\)\s+(\S+)/.exec(up.output())?.[1] ?? ''
    const berth = (words: readonly string[], input = '') =>
      run('npx', ['berth', ...words], clone, { ...process.env, XDG_CONFIG_HOME: home }, input)
    const login = ['login', '--setup', link, '--email', person.email, '--password-stdin']
    await timed('npx berth login --setup <link>', where, () => berth(login, person.password))
    for (const example of examples) await deployed(example, where, berth, edgePort as number)
  } finally {
    const remove = where === 'Docker' ? dockerRemover(dataFolder) : undefined
    await pressControlC(up)
    await Promise.all([remove?.(), rm(runtimeFolder(dataFolder), { recursive: true, force: true })])
  }
}

async function deployed(example: string, where: string, berth: (words: string[]) => Promise<string>, edgePort: number) {
  const output = await timed(`npx berth deploy examples/${example}`, where, () => berth(['deploy', `examples/${example}`]))
  const url = /live at (\S+)/.exec(output)?.[1]
  if (!url) throw new Error(`berth deploy printed no address: ${output}`)
  const { status, text } = await getPage(`http://127.0.0.1:${edgePort}`, new URL(url).host, '/')
  if (status !== 200) throw new Error(`${url} answers ${status}: ${text}`)
  console.log(`${where}: ${url} answers ${JSON.stringify(text.slice(0, 60))}`)
  // The next runtime creates its own project from the folder.
  await run('git', ['clean', '-fdxq', `examples/${example}`], clone)
}

function start(env: NodeJS.ProcessEnv): Promise<Daemon> {
  const ready = /set up \(once\)\s+\S+\n/
  return startDaemon({ program: 'npm', args: ['run', 'up'], cwd: clone, env, ready, readyWithinMs: 10 * 60_000 })
}

/** Sends SIGINT to the whole process group, as a terminal does for Ctrl-C: npm alone would not forward the signal and wait. */
async function pressControlC(up: Daemon): Promise<void> {
  process.kill(-up.pid, 'SIGINT')
  for (const until = performance.now() + 15_000; performance.now() < until && isAnyoneIn(up.pid); ) await pause(50)
  await up.stop()
}

function isAnyoneIn(group: number): boolean {
  try {
    return process.kill(-group, 0)
  } catch {
    return false
  }
}

async function timed<Result>(step: string, where: string, work: () => Promise<Result>): Promise<Result> {
  const begun = performance.now()
  const result = await work()
  rows.push([step, where, ((performance.now() - begun) / 1000).toFixed(1)])
  return result
}

function run(program: string, args: readonly string[], cwd: string, env = process.env, input = ''): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = execFile(program, args, { cwd, env }, (error, stdout, stderr) =>
      error ? reject(new Error(`${program} ${args.slice(0, 2).join(' ')}: ${error.message}\n${stderr}`)) : resolve(stdout),
    )
    // A program that does not read its input may have exited already.
    child.stdin?.on('error', () => undefined).end(input)
  })
}
