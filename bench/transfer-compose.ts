// Transfers a Compose project on the real engine to the cloud and back. One service is built from source, the other runs an image with
// a Docker volume. Run on a built product with the test machine's images: npx node bench/transfer-compose.ts. Fails when the data, a
// variable or the id has changed, when both sides or neither side serves, or when containers keep running at the source.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { partOf } from '../tests/kit/machine.ts'
import { listOnDocker } from '../tests/kit/runtimes.ts'
import { type Side, startTwoHostings } from '../tests/kit/two-hostings.ts'
import { table } from './kit/table.ts'

const web = `
import { createServer } from 'node:http'
createServer(async (_, response) => {
  try {
    const id = await (await fetch('http://store:8080/id')).text()
    response.end(JSON.stringify({ secret: process.env.SECRET, id: id.trim() }))
  } catch (error) {
    response.writeHead(500).end(String(error))
  }
}).listen(3000)
`
const compose = `
services:
  web:
    build: ./web
    ports: ['3000:3000']
    depends_on: [store]
  store:
    image: busybox
    command: ['sh', '-c', '[ -f /data/id ] || cat /proc/sys/kernel/random/uuid > /data/id; exec httpd -f -p 8080 -h /data']
    expose: ['8080']
    volumes: ['kept:/data']
volumes:
  kept:
`

const mirror = partOf('nodeImage').split('/')[0] as string
await using sides = await startTwoHostings({ BERTH_IMAGE_MIRROR: mirror, BERTH_JOB_LEASE_SECONDS: '1' }, { runtime: 'docker' })
const { here } = sides
const folder = join(here.folder, 'stack')
await mkdir(join(folder, 'web'), { recursive: true })
await writeFile(join(folder, 'compose.yaml'), compose)
await writeFile(join(folder, 'web', 'server.mjs'), web)
await writeFile(
  join(folder, 'web', 'Dockerfile'),
  'FROM node:24\nWORKDIR /app\nCOPY server.mjs ./\nUSER 1000:1000\nCMD ["node", "server.mjs"]\n',
)
const project = await here.makeProject({ name: 'stack', localPath: folder, type: 'services' })
await here.api('PATCH', `/projects/${project.id}/env`, { upserts: [{ key: 'SECRET', value: 'kept', isSecret: true }] })
const deployment = await here.settled(await here.deploy(project.id))
if (deployment.status !== 'live') throw new Error(`not live: ${JSON.stringify(deployment.error)}`)
const first = await answerOf('here')
if (!first?.includes('"secret":"kept"')) throw new Error(`the project does not serve: ${first}`)

const rows = [await moved('here', 'cloud'), await moved('cloud', 'here')]
console.log(table(['way', 's', 'containers left where it was', 'answers'], rows))

async function moved(from: Side, to: Side): Promise<(string | number)[]> {
  const begun = performance.now()
  const { status, body } = await sides.move(project.id, to)
  if (status !== 200) throw new Error(`the project was not transferred: ${JSON.stringify(body)}`)
  const seconds = (performance.now() - begun) / 1000
  const answer = await answerOf(to)
  if (answer !== first) throw new Error(`the project answers ${answer}, expected ${first}`)
  if (await answerOf(from, 1)) throw new Error('both sides serve')
  const running = (await listOnDocker(sides[from].berth.dataFolder)).filter((line) =>
    /^container instance .* running$/.test(line),
  )
  if (running.length > 0) throw new Error(`still running at the source: ${running.join(', ')}`)
  return [`${from} → ${to}`, seconds, running.length, answer ?? '']
}

async function answerOf(side: Side, tries = 50): Promise<string | undefined> {
  for (let at = 0; at < tries; at += 1) {
    const page = await sides[side].get(`${project.slug}.localhost`).catch(() => undefined)
    if (page?.status === 200) return page.text
    await pause(200)
  }
  return undefined
}
