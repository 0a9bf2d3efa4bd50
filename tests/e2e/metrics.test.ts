// gate: also on Docker, since the engine measures processor and memory
import { join } from 'node:path'
import type { MetricPoint } from '@berth/contract'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Hosting, startHosting, writeApp } from '../kit/hosting.ts'
import { describeOnRuntimes } from '../kit/runtimes.ts'

/** Answers with the status that the path names. */
const app = `
import { createServer } from 'node:http'
createServer((request, response) => response.writeHead(Number(request.url.slice(1)) || 200).end('12345'))
  .listen(process.env.PORT, process.env.HOST)
`
const within = { interval: 250 }

describeOnRuntimes('metrics of running projects', (runtime) => {
  let hosting: Hosting
  let project: { id: string; slug: string }
  beforeAll(async () => {
    hosting = await startHosting({ runtime })
    await writeApp(join(hosting.folder, 'measured'), app)
    project = await hosting.makeProject({ name: 'measured', localPath: join(hosting.folder, 'measured') })
    expect(await hosting.settled(await hosting.deploy(project.id))).toMatchObject({ status: 'live' })
  })
  afterAll(() => hosting?.[Symbol.asyncDispose]())

  const request = (path: string) => hosting.get(`${project.slug}.localhost`, path)
  const points = async (): Promise<MetricPoint[]> =>
    (await hosting.api('GET', `/projects/${project.id}/metrics`)).body.data.points
  const sums = async () => {
    const found = await points()
    const sum = (name: 'requests' | 'errors4xx' | 'errors5xx' | 'bytesOut') => found.reduce((total, one) => total + one[name], 0)
    return [sum('requests'), sum('errors4xx'), sum('errors5xx'), sum('bytesOut')]
  }

  test('requests, errors and bytes are counted, CPU and memory are measured, and all of it survives kill -9', async () => {
    for (const path of ['/', '/', '/', '/404', '/503']) await request(path)
    await expect.poll(sums, within).toEqual([5, 1, 1, 25])
    const measured = async () => (await points()).findLast(({ memoryMb }) => memoryMb !== null)
    await expect.poll(async () => (await measured())?.memoryMb, within).toBeGreaterThan(5)
    await expect.poll(async () => (await measured())?.cpuCores, within).toBeGreaterThan(0)
    expect((await measured())!.cpuCores).toBeLessThan(1.5)
    const [requested] = (await points()).filter(({ requests }) => requests > 0)
    expect(requested).toMatchObject({ p50Ms: expect.any(Number), p99Ms: expect.any(Number) })

    // Requests while no control plane runs, and those that the killed one had not stored, are reported to the next one.
    await request('/404')
    await hosting.berth.kill9()
    await request('/404')
    await hosting.berth.restart()
    await expect.poll(sums, within).toEqual([7, 3, 1, 35])
    expect(await measured()).toBeDefined()

    // A stop on purpose loses nothing either.
    await request('/')
    await hosting.berth.restart()
    await expect.poll(sums, within).toEqual([8, 3, 1, 40])
  })
})
