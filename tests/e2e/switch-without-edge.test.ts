import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Hosting, startHosting, writeApp } from '../kit/hosting.ts'
import { describeOnRuntimes } from '../kit/runtimes.ts'

/** Answers with its version. It starts slowly, so that the test can disturb the edge before the switch. */
const app = (text: string) => `
import { createServer } from 'node:http'
const server = createServer((_, response) => response.end(${JSON.stringify(text)}))
setTimeout(() => server.listen(process.env.PORT, process.env.HOST), 1500)
process.on('SIGTERM', () => process.exit(0))
`

describeOnRuntimes('a route switch while the edge is killed or suspended', (runtime) => {
  let hosting: Hosting
  let folder: string
  let project: { id: string; slug: string }
  let serves = 'version 0'

  beforeAll(async () => {
    hosting = await startHosting({ runtime })
    folder = join(hosting.folder, 'switched')
    await writeApp(folder, app(serves))
    project = await hosting.makeProject({ name: 'switched', localPath: folder, healthCheck: { path: '/' } })
    expect((await hosting.settled(await hosting.deploy(project.id))).error).toBeNull()
  })
  afterAll(() => hosting?.[Symbol.asyncDispose]())

  const edgePid = async () => Number(await readFile(join(hosting.berth.dataFolder, 'edge', 'edge.lock'), 'utf8'))

  test.each(['SIGKILL', 'SIGSTOP'] as const)('by %s: the edge serves the version that is reported as live', async (signal) => {
    const text = `version after ${signal}`
    await writeApp(folder, app(text))
    const id = await hosting.deploy(project.id)
    await hosting.settled(id, ({ steps }) => steps.some(({ name }) => name === 'health'))
    process.kill(await edgePid(), signal)
    const { status } = await hosting.settled(id)
    if (status === 'live') serves = text
    else expect(status).toBe('failed')
    const host = `${project.slug}.localhost`
    const page = async () => (await hosting.get(host).catch(() => undefined))?.text
    await expect.poll(page).toBe(serves)
    const { body } = await hosting.api('GET', `/projects/${project.id}/deployments`)
    expect(body.data.filter((one: { status: string }) => one.status === 'live')).toHaveLength(1)
  })
})
