// Scans hostile servers and reports how long each scan took, how it ended and how much memory the instance used.
// node bench/hostile-server.ts [--only=word]. Fails beyond 95 s a scan or 500 MB over what the instance used before.
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ContainerCreateOptions } from 'dockerode'
import { openEngine } from '../packages/server/src/drivers/runtime/docker/engine.ts'
import { type EngineReply, endlessReply, jsonReply, slowReply, startHostileEngine } from '../tests/kit/hostile-engine.ts'
import { startHosting } from '../tests/kit/hosting.ts'
import { partOf } from '../tests/kit/machine.ts'
import { startSshd } from '../tests/kit/sshd.ts'
import { tempFolder } from '../tests/kit/temp-folder.ts'
import { residentBytesOfInstance } from './kit/process-memory.ts'
import { table } from './kit/table.ts'

const only = process.argv.find((word) => word.startsWith('--only='))?.slice(7) ?? ''
const [maxSeconds, maxBytes] = [95, 500e6]
const atOnce = 4
await using folder = await tempFolder('hostile')
await using sshd = await startSshd(partOf('sshd'))
await using hosting = await startHosting()
const proof = join(folder.path, 'ran')
const bad = `$(touch ${proof});\`touch ${proof}\`\u001b[2J\u202e--privileged`
const bombs = join(folder.path, 'compose.yaml')
await writeFile(bombs, bombText())
const rows: (string | number)[][] = []

const idOf = (number: number) => number.toString(16).padStart(64, '0')
const listed = (count: number): EngineReply => jsonReply(Array.from({ length: count }, (_, at) => ({ Id: idOf(at) })))
const image = `sha256:${idOf(7)}`
const described = (config: object, more: object = {}): EngineReply => {
  return ({ url = '' }, response) => {
    const Id = url.split('/')[2] ?? ''
    response.end(JSON.stringify({ Id, Name: `/c-${Id.slice(-4)}${bad}`, Image: image, Config: config, ...more }))
  }
}
const stackLabels = { 'com.docker.compose.service': bad, 'com.docker.compose.project.config_files': bombs }
const bombed: EngineReply = ({ url = '' }, response) => {
  const Id = url.split('/')[2] ?? ''
  const Labels = {
    ...stackLabels,
    'com.docker.compose.project': `p${Id.slice(-4)}`,
    'com.docker.compose.project.working_dir': folder.path,
  }
  response.end(JSON.stringify({ Id, Name: '/x', Config: { Labels } }))
}
const cases: [string, Record<string, EngineReply>][] = [
  ['endless /version', { '/version': endlessReply }],
  ['endless list of containers', { '/containers/json': endlessReply }],
  [
    'endless containers, volumes, networks',
    {
      '/containers/json': listed(100),
      '/containers/:id/json': endlessReply,
      '/volumes': endlessReply,
      '/networks': endlessReply,
    },
  ],
  [
    '2,000 containers of 1 MB',
    { '/containers/json': pages(2000), '/containers/:id/json': described({ Labels: { a: 'x'.repeat(1e6) } }) },
  ],
  [
    '2,000 containers of many small parts',
    {
      '/containers/json': pages(2000),
      '/containers/:id/json': described({ Env: Array.from({ length: 20_000 }, (_, at) => `A${at}`) }),
    },
  ],
  [
    'names that are commands',
    {
      '/containers/json': listed(50),
      '/containers/:id/json': described({ Labels: { [bad]: bad }, Env: [bad], Cmd: [bad], Image: bad }),
    },
  ],
  ['50 stacks of YAML bombs', { '/containers/json': listed(50), '/containers/:id/json': bombed }],
  ['a byte every 50 ms', { '/containers/json': listed(50), '/containers/:id/json': slowReply }],
]
for (const [title, replies] of cases) if (title.includes(only)) await scanHostileEngine(title, replies)
if ('a real container with a label of 50 MB'.includes(only)) await scanReal()
console.log(table(['server', 'answer', 'seconds', 'MB more at the most', 'MB more after'], rows))
const isGood = rows.every(([, , seconds, most]) => Number(seconds) < maxSeconds && Number(most) * 1e6 < maxBytes)
if (existsSync(proof)) console.log('A COMMAND FROM THE SERVER WAS EXECUTED')
process.exitCode = isGood && !existsSync(proof) ? 0 : 1

async function scanHostileEngine(title: string, replies: Record<string, EngineReply>): Promise<void> {
  await using engine = await startHostileEngine(replies)
  await scan(title, engine.socket)
}

async function scanReal(): Promise<void> {
  const engine = openEngine(partOf('docker'))
  // Query and body are given separately, otherwise the client would send everything in the URL as well.
  const requested = { _query: {}, _body: { Image: partOf('busyboxImage'), Labels: { huge: 'x'.repeat(50 * 1024 ** 2) } } }
  const container = await engine.createContainer(requested as unknown as ContainerCreateOptions)
  try {
    await scan('a real container with a label of 50 MB', partOf('docker'))
  } finally {
    await container.remove({ force: true })
  }
}

/** Starts several scans at once. */
async function scan(title: string, dockerSocket: string): Promise<void> {
  const { host, port, user, privateKey } = sshd
  const server = { name: 'bad box', host, port, user, privateKey, dockerSocket }
  const { id } = (await hosting.api('POST', '/servers', server)).body.data
  const now = async () => residentBytesOfInstance(hosting.berth.pid)
  const before = await now()
  let limit = before
  const checking = setInterval(async () => {
    limit = Math.max(limit, await now())
  }, 100)
  const began = performance.now()
  const answers = await Promise.all(
    Array.from({ length: atOnce }, () => hosting.api('POST', '/migration/scan', { serverId: id })),
  )
  clearInterval(checking)
  const seconds = Number(((performance.now() - began) / 1000).toFixed(1))
  if (/\u001b|\u202e/.test(JSON.stringify(answers.map(({ body }) => body)).replace(/\\u001b/g, '\u001b')))
    throw new Error(`${title}: the response contains terminal control characters`)
  const reported = answers.map(({ status, body }) => `${status}${status === 200 ? '' : ` ${body.error}`}`)
  const megabytes = (bytes: number) => Math.round((bytes - before) / 1e6)
  rows.push([title, [...new Set(reported)].join('; ').slice(0, 90), seconds, megabytes(limit), megabytes(await now())])
  console.log(rows.at(-1)?.join(' | '))
  await hosting.api('DELETE', `/servers/${id}`)
}

/** Pages like an engine: a number of containers, starting after `before`. */
function pages(count: number): EngineReply {
  return ({ url = '' }, response) => {
    const query = new URL(url, 'http://docker').searchParams
    const { before } = JSON.parse(query.get('filters') ?? '{}') as { before?: string[] }
    const from = before?.[0] ? Number.parseInt(before[0], 16) + 1 : 0
    const length = Math.max(0, Math.min(Number(query.get('limit')), count - from))
    response.end(JSON.stringify(Array.from({ length }, (_, at) => ({ Id: idOf(from + at) }))))
  }
}

/** A YAML file that would expand to a billion words. */
function bombText(): string {
  const names = 'abcdefghi'.split('')
  const lines = names.map((name, at) => `${name}: &${name} [${Array(9).fill(at === 0 ? 'x' : `*${names[at - 1]}`)}]`)
  return [...lines, 'services: { x: { image: x, labels: *i, environment: *i } }'].join('\n')
}
