// gate: also on Docker, since containers and plain processes outlive the control plane in different ways
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Hosting, keepRequesting, processGroupsOf, startHosting, writeApp } from '../kit/hosting.ts'
import { missingLines, numberedLinesApp, numberedLinesOf } from '../kit/numbered-lines.ts'
import { describeOnRuntimes, listOnDocker } from '../kit/runtimes.ts'

describeOnRuntimes('a restart of the control plane', (runtime) => {
  let hosting: Hosting
  let project: { id: string; slug: string }
  const host = () => `${project.slug}.localhost`
  const status = async () => (await hosting.api('GET', `/projects/${project.id}`)).body.data.status
  beforeAll(async () => {
    hosting = await startHosting({ runtime, env: { BERTH_SLEEP_AFTER_SECONDS: '86400' } })
    await writeApp(join(hosting.folder, 'app'), numberedLinesApp)
    project = await hosting.makeProject({ name: 'Always on', localPath: join(hosting.folder, 'app') })
    expect((await hosting.settled(await hosting.deploy(project.id))).error).toBeNull()
  })
  afterAll(() => hosting?.[Symbol.asyncDispose]())

  const linesLogged = () => numberedLinesOf(hosting, project.id)
  const lastLine = async () => Math.max(...(await linesLogged()).keys())

  test('by SIGTERM and kill -9: no failed request, no restarted project, no lost line of output', async () => {
    const requests = keepRequesting(hosting.berth.edgeUrl, host(), { everyMs: 5 })
    await hosting.berth.restart()
    expect(await status()).toBe('live')
    await hosting.berth.kill9()
    await hosting.berth.restart()
    expect(await status()).toBe('live')
    const { failures, bodies } = await requests.stop()
    expect(failures).toEqual([])
    expect([...bodies.keys()]).toHaveLength(1)
    const before = await lastLine()
    await expect.poll(lastLine).toBeGreaterThan(before)
    expect(missingLines(await linesLogged(), 1)).toEqual([])
  })

  test('berth down stops the edge and the projects, and the next start starts them again', async () => {
    const before = (await hosting.get(host())).text
    const env = { BERTH_DATA_DIR: hosting.berth.dataFolder, ...hosting.settings }
    const { code, stderr } = await hosting.cli(['down'], { env })
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining(`1 project (${project.slug})`) })
    await expect(hosting.get(host())).rejects.toThrow('ECONNREFUSED')
    if (runtime === 'process') expect([...(await processGroupsOf(hosting.berth.dataFolder))]).toEqual([])
    else expect((await listOnDocker(hosting.berth.dataFolder)).filter((line) => line.endsWith('running'))).toEqual([])
    expect((await hosting.cli(['down'], { env })).code).toBe(0)
    await hosting.berth.restart()
    await expect.poll(() => hosting.get(host())).toMatchObject({ status: 200 })
    expect((await hosting.get(host())).text).not.toBe(before)
  })

  test('a stop without a following start ends the edge, and a start in time keeps it', async () => {
    const env = { BERTH_DATA_DIR: hosting.berth.dataFolder, ...hosting.settings }
    const restarted = await hosting.cli(['down', '--unless-restarted', '60', '--json'], { env })
    expect(JSON.parse(restarted.stdout)).toMatchObject({ outcome: 'restarted' })
    expect((await hosting.get(host())).status).toBe(200)
    await hosting.berth.kill9()
    const { code, stdout, stderr } = await hosting.cli(['down', '--unless-restarted', '0', '--json'], { env })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(JSON.parse(stdout)).toMatchObject({ outcome: 'stopped' })
    await expect(hosting.get(host())).rejects.toThrow('ECONNREFUSED')
    if (runtime === 'process') expect([...(await processGroupsOf(hosting.berth.dataFolder))]).toEqual([])
  })
})
