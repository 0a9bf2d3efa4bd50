import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { parseArgs } from 'node:util'
import { type Berth, startBerth } from '../tests/kit/start-berth.ts'
import { putLoadOn } from './kit/load.ts'
import { cpuSecondsOfInstance } from './kit/process-cpu.ts'
import { ratio, table } from './kit/table.ts'

/**
 * Compares a request for a cloud project through a linked instance with the same request to the cloud itself: the latency of both,
 * in short alternating runs. First on this machine's loopback, where the second hop dominates; then with a simulated network, as to
 * a real cloud. Fails if a single caller waits 1.5 times as long or more in the second case. Sixteen concurrent callers are shown
 * for comparison; on a machine with two cores they mainly show how busy the cores are.
 */
const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '2' },
    rounds: { type: 'string', default: '3' },
    roundTripMs: { type: 'string', default: '10' },
    limit: { type: 'string', default: '1.5' },
  },
})
const [seconds, rounds, limit] = [Number(values.seconds), Number(values.rounds), Number(values.limit)]
const admin = { BERTH_ADMIN_EMAIL: 'bench@example.test', BERTH_ADMIN_PASSWORD: 'bench password' }
const env = { ...admin, BERTH_LOG_LEVEL: 'warn', BERTH_RATE_LIMIT_SCALE: '1000', BERTH_RUNTIME: 'process' }

await using here = await startBerth({ env })
await using cloud = await startBerth({ env: { ...env, BERTH_MODE: 'cloud' } })
const [hereToken, cloudToken] = [await tokenOf(here), await tokenOf(cloud)]
await using network = await startNetwork(cloud.url, Number(values.roundTripMs) / 2)
const { data: project } = await request(cloud, cloudToken, 'POST', '/projects', {
  name: 'Shop',
  gitUrl: 'https://git.example.test/a/b.git',
})

const reads = [
  { name: 'a project', path: `/api/projects/${project.id}` },
  { name: 'its variables', path: `/api/projects/${project.id}/env` },
  { name: 'its deployments', path: `/api/projects/${project.id}/deployments` },
  { name: 'its deletion preview', path: `/api/projects/${project.id}/deletion-preview` },
]
await measure('loopback', cloud.url)
const worst = await measure(`${values.roundTripMs} ms away`, network.url)
if (worst >= limit) {
  console.log(`a request through the instance takes ${worst.toFixed(2)} times as long as a direct one; the limit is ${limit}`)
  process.exitCode = 1
}

/** Returns the largest ratio of the medians of a single caller. */
async function measure(where: string, url: string): Promise<number> {
  await request(here, hereToken, 'PUT', '/cloud/link', { url, token: cloudToken })
  const rows: (string | number)[][] = []
  const ratios: number[] = []
  for (const { name, path } of reads)
    for (const connections of [1, 16]) {
      const best = { direct: Infinity, passed: Infinity, directP99: Infinity, passedP99: Infinity, cpu: Infinity }
      for (let round = 0; round < rounds; round++) {
        const direct = await load(url, cloudToken, path, connections)
        const before = await cpuSecondsOfInstance(here.pid)
        const passed = await load(here.url, hereToken, path, connections)
        best.cpu = Math.min(best.cpu, (((await cpuSecondsOfInstance(here.pid)) - before) * 1e6) / passed.requests)
        best.direct = Math.min(best.direct, direct.p50Ms)
        best.passed = Math.min(best.passed, passed.p50Ms)
        best.directP99 = Math.min(best.directP99, direct.p99Ms)
        best.passedP99 = Math.min(best.passedP99, passed.p99Ms)
      }
      if (connections === 1) ratios.push(best.passed / best.direct)
      rows.push([
        ...[`${name}, ${connections} at once`, best.direct, best.passed, ratio(best.passed, best.direct)],
        ...[best.directP99, best.passedP99, best.cpu],
      ])
    }
  console.log(
    table([`the cloud: ${where}`, 'direct p50 ms', 'through p50 ms', 'ratio', 'direct p99', 'through p99', 'CPU µs here'], rows),
  )
  return Math.max(...ratios)
}

async function load(url: string, token: string, path: string, connections: number) {
  const headers = { authorization: `Bearer ${token}` }
  const result = await putLoadOn({ url: url + path, headers, connections, seconds, wrk: process.env.BERTH_TEST_WRK })
  if (result.errors > 0) throw new Error(`${path}: ${result.errors} of ${result.requests} requests failed`)
  return result
}

/** Forwards every byte with a delay. */
async function startNetwork(to: string, delayMs: number) {
  const { hostname, port } = new URL(to)
  const late = (from: Socket, into: Socket) => {
    from.on('data', (bytes) => setTimeout(() => into.write(bytes), delayMs))
    from.on('close', () => setTimeout(() => into.destroy(), delayMs)).on('error', () => {})
  }
  const server = createServer((socket) => {
    const other = connect(Number(port), hostname)
    for (const one of [socket, other]) one.setNoDelay(true)
    late(socket, other)
    late(other, socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.close()
    },
  }
}

async function tokenOf({ url }: Berth): Promise<string> {
  const login = await fetch(`${url}/api/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email: admin.BERTH_ADMIN_EMAIL, password: admin.BERTH_ADMIN_PASSWORD }),
  })
  const cookie = login.headers.getSetCookie()[0]?.split(';')[0] as string
  const made = await fetch(`${url}/api/tokens`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', cookie, origin: url },
    body: JSON.stringify({ name: 'bench' }),
  })
  return ((await made.json()) as { data: { token: string } }).data.token
}

async function request({ url }: Berth, token: string, method: string, path: string, body: object) {
  const answer = await fetch(`${url}/api${path}`, {
    method,
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify(body),
  })
  if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status}: ${await answer.text()}`)
  return (await answer.json()) as { data: { id: string } }
}
