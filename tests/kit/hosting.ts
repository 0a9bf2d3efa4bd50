import { execFile } from 'node:child_process'
import { chmod, cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Deployment, Project } from '@berth/contract'
import { Agent } from 'undici'
import { dockerRemover, type RuntimeKind, settingsFor } from './runtimes.ts'
import { type Berth, type BerthOptions, startBerth } from './start-berth.ts'
import { type TempFolder, tempFolder } from './temp-folder.ts'

const launcher = join(import.meta.dirname, '..', '..', 'packages', 'cli', 'bin', 'berth.js')
const examples = join(import.meta.dirname, '..', '..', 'examples')
const admin = { email: 'owner@example.test', password: 'correct horse battery' }

/** Settings with which an instance creates its owner at the first start. */
export const ownerSettings = { BERTH_ADMIN_EMAIL: admin.email, BERTH_ADMIN_PASSWORD: admin.password }

export interface ApiAnswer {
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: each test says what it expects to find in it
  body: any
}

export interface CommandResult {
  code: number
  stdout: string
  stderr: string
}

/** An instance of the built product that hosts projects, and its owner. */
export interface Hosting extends AsyncDisposable {
  berth: Berth
  /** Folder for sources; below a project root. */
  folder: string
  /** Home directory of the CLI's user. */
  home: string
  /** Settings of the instance that the test chose, for commands that work on its data folder. */
  settings: NodeJS.ProcessEnv
  api(method: string, path: string, body?: unknown): Promise<ApiAnswer>
  /** The bytes of an event stream as they arrive, until it ends or `abort` fires. */
  stream(path: string, abort: AbortSignal): Promise<AsyncIterable<Uint8Array>>
  /** Runs a command of the real CLI in its own process, with its own home. */
  cli(args: readonly string[], options?: { cwd?: string; input?: string; env?: NodeJS.ProcessEnv }): Promise<CommandResult>
  copyExample(name: string): Promise<string>
  makeProject(body: object): Promise<Project>
  deploy(projectId: string, body?: object): Promise<string>
  deployment(id: string): Promise<Deployment>
  /** Resolves once the deployment has ended, or when `until` returns true. */
  settled(id: string, until?: (deployment: Deployment) => boolean): Promise<Deployment>
  get(host: string, path?: string, headers?: Record<string, string>): Promise<Page>
}

export interface Page {
  status: number
  headers: Record<string, string | string[] | undefined>
  text: string
  bytes: Buffer
}

export interface HostingOptions extends BerthOptions {
  /** The runtime of the projects; a test that uses Docker must be inside describeOnRuntimes. */
  runtime?: RuntimeKind
}

export async function startHosting({ runtime = 'process', ...options }: HostingOptions = {}): Promise<Hosting> {
  const folder: TempFolder = await tempFolder('hosting')
  const sources = join(folder.path, 'sources')
  const home = join(folder.path, 'home')
  await Promise.all([mkdir(sources), mkdir(home)])
  // An instance that runs as another user must be able to read the sources.
  if (options.user !== undefined) await chmod(folder.path, 0o755)
  const berth = await startBerth({
    ...options,
    env: {
      ...settingsFor(runtime),
      BERTH_PROJECT_ROOTS: sources,
      ...ownerSettings,
      BERTH_LOG_LEVEL: 'warn',
      // Tests poll a deployment without a pause; rate limits are tested in other files.
      BERTH_RATE_LIMIT_SCALE: '1000',
      ...options.env,
    },
  })
  const removeFromDocker = runtime === 'docker' ? dockerRemover(berth.dataFolder) : undefined
  const end = async () => {
    // Also stops the workloads of killed control planes: each new control plane has adopted those of the one before.
    await berth[Symbol.asyncDispose]()
    await removeFromDocker?.()
    await Promise.all([folder.remove(), rm(runtimeFolder(berth.dataFolder), { recursive: true, force: true })])
  }
  try {
    const settings = { ...settingsFor(runtime), ...options.env }
    return { ...hostingOn(berth, sources, home, await signIn(berth.url)), settings, [Symbol.asyncDispose]: end }
  } catch (error) {
    await end()
    throw error
  }
}

/** The folder of the process runtime. */
export const runtimeFolder = (dataFolder: string) => join(dataFolder, 'processes')

export async function signIn(url: string): Promise<string> {
  const headers = { 'content-type': 'application/json', origin: url }
  const session = await fetch(`${url}/api/auth/login`, { method: 'POST', headers, body: JSON.stringify(admin) })
  const cookie = session.headers.getSetCookie()[0]?.split(';')[0] ?? failed('the session', await session.text())
  const made = await fetch(`${url}/api/tokens`, {
    method: 'POST',
    headers: { ...headers, cookie },
    body: JSON.stringify({ name: 'test' }),
  })
  const { data } = (await made.json()) as { data?: { token: string } }
  return data?.token ?? failed('the token', made.status)
}

function hostingOn(berth: Berth, folder: string, home: string, token: string): Omit<Hosting, keyof AsyncDisposable | 'settings'> {
  const api = (method: string, path: string, body?: unknown) => call(berth.url, token, method, path, body)
  const deployment = async (id: string): Promise<Deployment> => {
    const answer = await api('GET', `/deployments/${id}`)
    return answer.status === 200 ? answer.body.data : failed('the deployment', answer)
  }
  return {
    berth,
    folder,
    home,
    api,
    async stream(path, abort) {
      const headers = { authorization: `Bearer ${token}`, accept: 'text/event-stream' }
      const response = await fetch(`${berth.url}/api${path}`, { headers, signal: abort })
      return response.status === 200 && response.body ? response.body : failed('the stream', response.status)
    },
    cli: (args, options) => runCli(args, { url: berth.url, home, ...options }),
    async copyExample(name) {
      const copy = join(folder, `${name}-${Math.random().toString(36).slice(2, 8)}`, name)
      await cp(join(examples, name), copy, { recursive: true })
      return copy
    },
    async makeProject(body) {
      const answer = await api('POST', '/projects', body)
      return answer.status === 201 ? answer.body.data : failed('the project', answer)
    },
    async deploy(projectId, body = {}) {
      const answer = await api('POST', '/deployments/build/access', { projectId, ...body })
      return answer.status === 202 ? answer.body.data.deploymentId : failed('the deployment', answer)
    },
    deployment,
    async settled(id, until = isOver) {
      for (const end = performance.now() + 240_000; ; ) {
        const current = await deployment(id)
        if (until(current)) return current
        if (performance.now() > end) throw new Error(`the deployment is still ${JSON.stringify(current)}`)
        await pause(until === isOver ? 100 : 50)
      }
    },
    get: (host, path = '/', headers = {}) => getPage(berth.edgeUrl, host, path, headers),
  }
}

export const isOver = ({ status }: Deployment) => !['queued', 'building', 'deploying'].includes(status)

/** An app of one file with the given source, started by node. */
export async function writeApp(folder: string, source: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  await writeFile(
    join(folder, 'package.json'),
    JSON.stringify({ name: 'app', type: 'module', scripts: { start: 'node server.js' } }),
  )
  await writeFile(join(folder, 'server.js'), source)
}

/** Serves `text` on PORT, after `afterMs`, until SIGTERM; requests in progress are completed first. */
export const serving = (text: string, { afterMs = 0, status = 200 } = {}) => `
import { createServer } from 'node:http'
const server = createServer((_, response) => response.writeHead(${status}).end(${JSON.stringify(text)}))
setTimeout(() => server.listen(process.env.PORT, process.env.HOST), ${afterMs})
process.on('SIGTERM', () => { server.close(() => process.exit(0)); server.closeIdleConnections() })
`

/** Requests a page from the edge by the Host header, whatever the name resolves to. */
export function getPage(edgeUrl: string, host: string, path: string, headers: Record<string, string> = {}): Promise<Page> {
  const { hostname, port } = new URL(edgeUrl)
  return new Promise((resolve, reject) => {
    request({ hostname, port, path, headers: { ...headers, host }, agent: false }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        const bytes = Buffer.concat(chunks)
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text: bytes.toString(), bytes })
      })
    })
      .on('error', reject)
      .end()
  })
}

export interface Load {
  requests: number
  failures: string[]
  /** Each distinct body and how often it was received. */
  bodies: Map<string, number>
}

/** Sends requests on keep-alive connections until `stop`; any response other than 200 is a failure. */
export function keepRequesting(edgeUrl: string, host: string, { connections = 4, path = '/', everyMs = 20 } = {}) {
  const agent = new Agent({ connections, pipelining: 1, keepAliveTimeout: 60_000, headersTimeout: 90_000 })
  const load: Load = { requests: 0, failures: [], bodies: new Map() }
  let isStopped = false
  const send = async () => {
    while (!isStopped) {
      const begun = performance.now()
      try {
        const { origin } = new URL(edgeUrl)
        const { statusCode, body } = await agent.request({ origin, path, method: 'GET', headers: { host } })
        const text = await body.text()
        load.requests++
        if (statusCode === 200) load.bodies.set(text, (load.bodies.get(text) ?? 0) + 1)
        else load.failures.push(`${statusCode} ${text.slice(0, 80)}`)
      } catch (error) {
        load.requests++
        load.failures.push(`${(error as Error).message} after ${Math.round(performance.now() - begun)} ms`)
      }
      await pause(everyMs)
    }
  }
  const requesting = Promise.all(Array.from({ length: connections }, send))
  return {
    load,
    async stop(): Promise<Load> {
      isStopped = true
      await requesting
      await agent.close()
      return load
    },
  }
}

async function call(url: string, token: string | null, method: string, path: string, body?: unknown): Promise<ApiAnswer> {
  const response = await fetch(`${url}/api${path}`, {
    method,
    headers: {
      ...(token ? { authorization: `Bearer ${token}` } : {}),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, body: text.startsWith('{') ? JSON.parse(text) : text }
}

function runCli(
  args: readonly string[],
  { url, home, cwd, input, env: more = {} }: { url: string; home: string; cwd?: string; input?: string; env?: NodeJS.ProcessEnv },
): Promise<CommandResult> {
  return new Promise((resolve) => {
    const env = { PATH: process.env.PATH, HOME: home, XDG_CONFIG_HOME: join(home, 'config'), BERTH_URL: url, ...more }
    const child = execFile(
      process.execPath,
      [launcher, ...args],
      { env, cwd: cwd ?? home, timeout: 180_000 },
      (error, stdout, stderr) => resolve({ code: error ? Number(error.code ?? 1) : 0, stdout, stderr }),
    )
    child.stdin?.end(input ?? '')
  })
}

export const ownerSignIn = { email: admin.email, password: admin.password }

/** Process groups with a running member whose command line or environment contains the text. */
export async function processGroupsOf(text: string): Promise<Set<string>> {
  const groups = new Set<string>()
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name) || Number(name) === process.pid) continue
    const read = (file: string) => readFile(`/proc/${name}/${file}`, 'utf8').catch(() => '')
    const [cmdline, environ, stat] = (await Promise.all(['cmdline', 'environ', 'stat'].map(read))) as [string, string, string]
    const [state, , group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    if (state && state !== 'Z' && group && `${cmdline}${environ}`.includes(text)) groups.add(group)
  }
  return groups
}

function failed(what: string, answer: unknown): never {
  throw new Error(`${what} was expected, the instance answered ${JSON.stringify(answer)}`)
}
