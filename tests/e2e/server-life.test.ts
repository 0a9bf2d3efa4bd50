import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { backupsOf } from '../kit/backups.ts'
import { type Hosting, serving, startHosting, writeApp } from '../kit/hosting.ts'
import { describeNeeding } from '../kit/machine.ts'
import { describeOnDocker } from '../kit/runtimes.ts'
import { addServerBox, type ServerBox, serverImages } from '../kit/server-box.ts'

const password = 'a canary password, with $(words) and "quotes"'
/** `/?text` writes it into the volume, `/` reads it. */
const keeping = `
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
const file = process.env.BERTH_VOLUME_DATA + '/text'
createServer((request, response) => {
  const text = new URL(request.url, 'http://x').search.slice(1)
  if (text) writeFileSync(file, text)
  try { response.end(readFileSync(file)) } catch { response.end('nothing') }
}).listen(process.env.PORT, process.env.HOST)
process.on('SIGTERM', () => process.exit(0))
`

const isRoot = process.getuid?.() === 0
const describeAsRoot: typeof describeNeeding = (parts, title, body) =>
  isRoot
    ? describeNeeding(parts, title, body)
    : describeOnDocker(title, () => test.skip('only root can start an sshd with passwords'))

describeOnDocker('a server with a password login', () => {
  describeAsRoot(['sshd', 'bwrap'], 'and its projects', () => {
    let hosting: Hosting
    let box: ServerBox
    beforeAll(async () => {
      hosting = await startHosting({ env: { ...serverImages(), BERTH_SLEEP_AFTER_SECONDS: '3' } })
      box = await addServerBox(hosting, { password })
    })
    afterAll(async () => {
      await box?.[Symbol.asyncDispose]()
      await hosting?.[Symbol.asyncDispose]()
    })
    const live = async (name: string, source: string, more: object = {}) => {
      const localPath = join(hosting.folder, name)
      await writeApp(localPath, source)
      const { serverId } = box
      const project = await hosting.makeProject({
        name,
        localPath,
        serverId,
        healthCheck: { path: '/', timeoutSeconds: 60 },
        ...more,
      })
      expect(await hosting.settled(await hosting.deploy(project.id))).toMatchObject({ status: 'live', error: null })
      return project
    }
    const statusOf = async ({ id }: { id: string }) => (await hosting.api('GET', `/projects/${id}`)).body.data.status

    test('the right password logs in, a wrong one does not, and neither is in a log', async () => {
      const check = () => hosting.api('POST', `/servers/${box.serverId}/check`)
      expect((await check()).body.data).toMatchObject({ reachable: true, hostKey: await box.sshd.fingerprint() })
      expect(box.sshd.log()).toContain('Accepted password')
      const wrong = { name: 'wrong', host: box.sshd.host, port: box.sshd.port, user: box.sshd.user, password: `${password}!` }
      const { id } = (await hosting.api('POST', '/servers', wrong)).body.data
      const refused = await hosting.api('POST', `/servers/${id}/check`)
      expect([refused.status, refused.body.error]).toEqual([502, expect.stringContaining('password is not accepted')])
      expect(hosting.berth.output()).not.toContain('canary password')
    })

    test('a project on the server sleeps and wakes on the first request', async () => {
      const project = await live('sleeper', serving('awake'))
      expect((await hosting.api('POST', `/projects/${project.id}/sleep-mode`, { sleepMode: 'auto_sleep' })).status).toBe(200)
      await expect.poll(() => statusOf(project)).toBe('sleeping')
      const answers = await Promise.all(Array.from({ length: 20 }, () => hosting.get(`${project.slug}.localhost`)))
      expect(new Set(answers.map(({ status, text }) => `${status} ${text}`))).toEqual(new Set(['200 awake']))
    })

    test('a volume on the server is backed up and restored byte for byte', async () => {
      const project = await live('kept', keeping, { volumes: [{ name: 'data', mountPath: '/data' }] })
      const backups = backupsOf(hosting)
      const write = async (text: string) => (await hosting.get(`${project.slug}.localhost`, `/?${text}`)).text
      expect(await write('before')).toBe('before')
      const destinationId = await backups.destination('local', { path: 'far' })
      const run = await backups.backUp(await backups.policy(project.id, { destinationId, retainCount: 5 }))
      expect(run).toMatchObject({ status: 'succeeded', error: null, artifacts: [{ name: 'data', kind: 'volume' }] })
      expect(await write('after')).toBe('after')
      expect(await backups.restore(run.id)).toMatchObject({ status: 'succeeded', dataState: 'restored', error: null })
      await expect.poll(async () => (await hosting.get(`${project.slug}.localhost`)).text).toBe('before')
    })

    test('requests while the connection is down get an error at once, and are served again when it is back', async () => {
      const project = await live('behind', serving('here'))
      const host = `${project.slug}.localhost`
      expect((await hosting.get(host)).text).toBe('here')
      box.link.cut('reset')
      const answers = await Promise.all(Array.from({ length: 5 }, () => hosting.get(host)))
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([502]))
      box.link.mend()
      await expect.poll(async () => (await hosting.get(host)).text).toBe('here')
    })
  })
})
