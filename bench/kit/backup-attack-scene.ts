import { execFile } from 'node:child_process'
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { BackupRun } from '../../packages/contract/src/index.ts'
import { type Backups, backupsOf } from '../../tests/kit/backups.ts'
import { type Hosting, startHosting, writeApp } from '../../tests/kit/hosting.ts'
import { type TempFolder, tempFolder } from '../../tests/kit/temp-folder.ts'

export const run = promisify(execFile)
export const secret = 'the-secret-that-no-archive-may-hold'
const launcher = join(import.meta.dirname, '..', '..', 'packages', 'cli', 'bin', 'berth.js')

/**
 * Keeps a known file in its volume, and meanwhile replaces a folder by a symlink that points outside, grows and truncates files,
 * and creates names, holes and links of every kind. `/?text` writes, `/` reads.
 */
const restless = `
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
const folder = process.env.BERTH_VOLUME_DATA
const at = (...names) => join(folder, ...names)
const quietly = (work) => { try { work() } catch {} }
let round = 0
setInterval(() => {
  round += 1
  quietly(() => rmSync(at('way'), { recursive: true, force: true }))
  if (round % 2) quietly(() => { mkdirSync(at('way')); for (let n = 0; n < 20; n++) writeFileSync(at('way', 'f' + n), 'x'.repeat(round % 5000)) })
  else quietly(() => symlinkSync(process.env.LEADS_OUT, at('way')))
  quietly(() => { rmSync(at('leaf'), { force: true }); symlinkSync(process.env.LEADS_OUT + '/canary.txt', at('leaf')) })
  quietly(() => { writeFileSync(at('grows'), 'y'.repeat((round * 7919) % 300000)); truncateSync(at('grows'), round % 1000) })
  quietly(() => { writeFileSync(at('hole'), 'z'); truncateSync(at('hole'), 200 * 1024 ** 3) })
  quietly(() => { writeFileSync(at('moved-' + (round % 3)), 'm'); renameSync(at('moved-' + (round % 3)), at('moved')) })
  quietly(() => { rmSync(at('hard'), { force: true }); linkSync(at('kept.txt'), at('hard')) })
  quietly(() => writeFileSync(Buffer.concat([Buffer.from(folder + '/odd-'), Buffer.from([0xff, 0xfe])]), 'odd'))
}, 3)
createServer((request, response) => {
  const text = decodeURIComponent(new URL(request.url, 'http://x').search.slice(1))
  if (text) writeFileSync(at('kept.txt'), text)
  let now = ''
  quietly(() => { now = readFileSync(at('kept.txt'), 'utf8') })
  response.end(now)
}).listen(process.env.PORT, process.env.HOST)
process.on('SIGTERM', () => process.exit(0))
`

export interface AttackScene extends AsyncDisposable {
  hosting: Hosting
  backups: Backups
  place: TempFolder
  project: { id: string; slug: string }
  other: { id: string; slug: string }
  destinationId: string
  policyId: string
  otherPolicyId: string
  /** The folder of the local destination. */
  stored: string
  keyFile: string
  tokens: { viewer: string; member: string; limited: string; none: string }
  restarts: number
  opened: number
  wrong(message: string): void
  request(
    token: string | null,
    method: string,
    path: string,
    body?: unknown,
  ): Promise<{ status: number; body: string; ms: number }>
  write(text: string): Promise<void>
  read(): Promise<string>
  powerCut(): Promise<void>
  /** Opens the archive of a successful run without the instance, and returns the content of the known file. */
  open(run: Pick<BackupRun, 'id'>, projectId?: string): Promise<string>
  /** Checks after each attack: the instance responds, the project serves, nothing was written outside. */
  checkAll(after: string): Promise<void>
  checkAtEnd(): Promise<void>
}

export async function setAttackScene(wrong: (message: string) => void): Promise<AttackScene> {
  const place = await tempFolder('attacks')
  const outside = join(place.path, 'outside')
  await mkdir(outside)
  await writeFile(join(outside, 'canary.txt'), secret)
  const hosting = await startHosting({ env: { BERTH_JOB_LEASE_SECONDS: '1', BERTH_LOG_LEVEL: 'error' } })
  const backups = backupsOf(hosting)
  const makeProject = async (name: string) => {
    const folder = join(hosting.folder, name)
    await writeApp(folder, restless)
    const volumes = [{ name: 'data', mountPath: '/data' }]
    const made = await hosting.makeProject({ name, localPath: folder, volumes, healthCheck: { path: '/' } })
    await hosting.api('PATCH', `/projects/${made.id}/env`, { upserts: [{ key: 'LEADS_OUT', value: outside }] })
    const { error } = await hosting.settled(await hosting.deploy(made.id))
    if (error) throw new Error(JSON.stringify(error))
    return made
  }
  const [project, other] = [await makeProject('victim'), await makeProject('other')]
  const destinationId = await backups.destination('local', { path: 'nightly' })
  const policyId = await backups.policy(project.id, { destinationId, retainCount: 5 })
  const otherPolicyId = await backups.policy(other.id, { destinationId, retainCount: 5 })
  const tokens = {
    viewer: await join_(hosting, 'viewer'),
    member: await join_(hosting, 'member'),
    limited: (await hosting.api('POST', '/tokens', { name: 'limited', projectIds: [other.id] })).body.data.token as string,
    none: 'brt_unknown',
  }
  const before = await listOf(outside)
  const scene: AttackScene = {
    ...{ hosting, backups, place, project, other, destinationId, policyId, otherPolicyId, tokens, wrong },
    stored: join(hosting.berth.dataFolder, 'backups', 'nightly'),
    keyFile: join(hosting.berth.dataFolder, 'backup.key'),
    restarts: 0,
    opened: 0,
    async request(token, method, path, body) {
      const began = performance.now()
      const response = await fetch(`${hosting.berth.url}/api${path}`, {
        method,
        headers: {
          ...(token ? { authorization: `Bearer ${token}` } : {}),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
        signal: AbortSignal.timeout(60_000),
      })
      const text = await response.text()
      const ms = performance.now() - began
      if (response.status >= 500) wrong(`${method} ${path} answered ${response.status}: ${text.slice(0, 300)}`)
      if (ms > 15_000) wrong(`${method} ${path} took ${Math.round(ms)} ms`)
      return { status: response.status, body: text, ms }
    },
    write: async (text) => void (await hosting.get(`${project.slug}.localhost`, `/?${encodeURIComponent(text)}`)),
    read: async () => (await hosting.get(`${project.slug}.localhost`)).text,
    async powerCut() {
      await hosting.berth.kill9()
      await hosting.berth.restart()
      scene.restarts += 1
    },
    async open({ id }, projectId = project.id) {
      const to = join(place.path, `opened-${id}`)
      const folder = join(scene.stored, projectId, id)
      const manifest = (await readdir(folder)).find((name) => name.startsWith('manifest'))
      if (!manifest) throw new Error(`${id} has no manifest`)
      const args = [launcher, 'restore', '--file', join(folder, manifest), '--key', scene.keyFile, '--to', to]
      try {
        await run(process.execPath, args, { env: { PATH: process.env.PATH, HOME: place.path } })
        const found = await run('grep', ['-rlF', secret, to]).then(
          ({ stdout }) => stdout,
          () => '',
        )
        if (found) wrong(`the archive of ${id} holds what lies outside of the volume: ${found}`)
        scene.opened += 1
        return await readFile(join(to, 'data', 'kept.txt'), 'utf8')
      } finally {
        await rm(to, { recursive: true, force: true })
      }
    },
    async checkAll(after) {
      const { status, ms } = await scene.request(null, 'GET', '/health')
      if (status >= 500 || ms > 5_000) wrong(`after ${after}: /health answered ${status} in ${Math.round(ms)} ms`)
      const now = await listOf(outside)
      if (now !== before) wrong(`after ${after}: outside of the volumes is now ${now}`)
    },
    async checkAtEnd() {
      for (const { id } of [project, other]) {
        const runs: BackupRun[] = (await hosting.api('GET', `/projects/${id}/backup-runs?limit=100`)).body.data
        for (const one of runs) if (!one.finishedAt) await backups.ended(one.id)
      }
      const left = await listOf(scene.stored)
      await cp(scene.stored, join(place.path, 'left'), { recursive: true })
      if (left.includes('.draft')) wrong(`drafts are left at the destination: ${left}`)
    },
    async [Symbol.asyncDispose]() {
      await hosting[Symbol.asyncDispose]()
      await place.remove()
    },
  }
  return scene
}

const listOf = async (folder: string) => (await readdir(folder, { recursive: true })).sort().join(' ')

/** Adds another member to the organisation, and returns their token. */
async function join_(hosting: Hosting, role: string): Promise<string> {
  const email = `${role}@example.test`
  const password = 'look but do not touch'
  const { body } = await hosting.api('POST', '/invitations', { email, role })
  const { url } = hosting.berth
  const post = (path: string, content: object, cookie = '') =>
    fetch(`${url}/api${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: url, cookie },
      body: JSON.stringify(content),
    })
  await post('/invitations/accept', { code: body.data.code, email, password, name: role })
  const session = await post('/auth/login', { email, password })
  const cookie = session.headers.getSetCookie()[0]?.split(';')[0] ?? ''
  const made = (await (await post('/tokens', { name: role }, cookie)).json()) as { data?: { token: string } }
  if (!made.data) throw new Error(`no token for ${role}: ${JSON.stringify(made)}`)
  return made.data.token
}
