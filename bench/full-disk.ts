// Runs an instance on a disk that is filled and freed every few seconds, while it deploys, backs up, restores and accepts uploads.
// Needs root, since it mounts a tmpfs. Run on a built product: npx node bench/full-disk.ts [--seconds 60]. Fails when the control plane
// ends, when a response is a 5xx other than 507 and 503, when a deployment, run or restore ends as `internal`, or when one of them
// fails after the disk has space again.
import { execFileSync } from 'node:child_process'
import { closeSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { backupsOf } from '../tests/kit/backups.ts'
import { serving, startHosting, writeApp } from '../tests/kit/hosting.ts'
import { tempFolder } from '../tests/kit/temp-folder.ts'

const { values } = parseArgs({ options: { seconds: { type: 'string', default: '60' } } })
const counts = new Map<string, number>()
const wrong: string[] = []
const count = (line: string) => counts.set(line, (counts.get(line) ?? 0) + 1)

await using place = await tempFolder('small-disk')
execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=400m,mode=755', 'tmpfs', place.path])
try {
  await attack(place.path)
} finally {
  execFileSync('umount', ['-l', place.path])
}
for (const [line, times] of [...counts].sort()) console.log(`${String(times).padStart(5)}  ${line}`)
for (const line of wrong) console.log(`wrong: ${line}`)
process.exitCode = wrong.length > 0 ? 1 : 0

async function attack(disk: string): Promise<void> {
  const dataFolder = join(disk, 'data')
  await mkdir(dataFolder)
  await using hosting = await startHosting({ dataFolder, env: { BERTH_LOG_LEVEL: 'error' } })
  const { pid } = hosting.berth
  const backups = backupsOf(hosting)
  const folder = join(hosting.folder, 'busy')
  // The app writes to its output all the time: on a full disk it exits, and the instance restarts it.
  const writing = `setInterval(() => console.log('x'.repeat(500)), 20)\n${serving('busy')}`
  await writeApp(folder, writing)
  const { id, slug } = await hosting.makeProject({
    name: 'busy',
    localPath: folder,
    volumes: [{ name: 'data', mountPath: '/data' }],
  })
  const live = await hosting.settled(await hosting.deploy(id))
  if (live.status !== 'live') throw new Error(JSON.stringify(live.error))
  const policy = await backups.policy(id, { destinationId: await backups.destination('local', { path: 'here' }) })
  const first = await backups.backUp(policy)
  await hosting.api('POST', `/backup-runs/${first.id}/protect`, { protected: true })

  const request = async (method: string, path: string, body?: unknown) => {
    const { status, body: answer } = await hosting.api(method, path, body)
    count(`${method} ${path.replace(/[a-z]{3}_[a-z2-7]{20}/, ':id')} ${status} ${answer.code ?? ''}`)
    if (status >= 500 && status !== 507 && status !== 503) wrong.push(`${method} ${path}: ${status}`)
  }
  const ended = (what: string, { status, error }: { status: string; error: { code: string } | null }) => {
    count(`${what} ${status} ${error?.code ?? ''}`)
    if (error?.code === 'internal') wrong.push(`${what} ended as internal`)
  }
  const work: (() => Promise<unknown>)[] = [
    async () => ended('deployment', await hosting.settled(await hosting.deploy(id))),
    async () => ended('run', await backups.backUp(policy)),
    async () => ended('restore', await backups.restore(first.id, { target: 'copy' })),
    () => request('POST', '/projects', { name: 'new' }),
    () => request('PATCH', `/projects/${id}/env`, { upserts: [{ key: 'BIG', value: 'x'.repeat(50_000) }] }),
    () => request('POST', '/projects/folder/session', { name: 'upload' }),
    () => request('GET', '/health'),
    () => request('GET', `/projects/${id}/logs`),
  ]
  const endAt = performance.now() + Number(values.seconds) * 1000
  const goOn = async (one: () => Promise<unknown>) => {
    while (performance.now() < endAt) {
      await one().catch(() => count('refused'))
      await pause(100)
    }
  }
  await Promise.all([fillAndFree(disk, endAt), ...work.map(goOn)])

  if (hosting.berth.pid !== pid || !(await isUp(hosting.berth.url))) wrong.push('the control plane has ended')
  const after = await hosting.settled(await hosting.deploy(id))
  if (after.status !== 'live') wrong.push(`with room again, the deployment is ${JSON.stringify(after.error)}`)
  if ((await backups.backUp(policy)).status !== 'succeeded') wrong.push('with room again, a run does not succeed')
  const restored = await backups.restore(first.id)
  if (restored.status !== 'succeeded') wrong.push(`with room again, a restore is ${JSON.stringify(restored.error)}`)
  const page = await hosting.get(`${slug}.localhost`)
  if (page.text !== 'busy') wrong.push(`with room again, the project answers ${page.status}`)
}

async function isUp(url: string): Promise<boolean> {
  const answer = await fetch(`${url}/api/health`).catch(() => undefined)
  return answer?.ok ?? false
}

async function fillAndFree(disk: string, endAt: number): Promise<void> {
  const filler = join(disk, 'filler')
  while (performance.now() < endAt) {
    fill(disk, filler, Math.random() < 0.5 ? 0 : Math.random() * 300_000)
    await pause(500 + Math.random() * 3_000)
    rmSync(filler)
    await pause(500 + Math.random() * 2_000)
  }
}

function fill(disk: string, filler: string, leave: number): void {
  const file = openSync(filler, 'a')
  const block = Buffer.alloc(1024 * 1024)
  try {
    for (;;) {
      const { bavail, bsize } = statfsSync(disk)
      const room = Math.floor(bavail * bsize - leave)
      if (room <= 0) return
      writeSync(file, block, 0, Math.min(room, block.length))
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
  } finally {
    closeSync(file)
  }
}
