// gate: also on Docker, since what a killed deployment leaves behind are containers, images and networks
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Deployment } from '@berth/contract'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Hosting, isOver, keepRequesting, processGroupsOf, runtimeFolder, startHosting, writeApp } from '../kit/hosting.ts'
import { describeOnRuntimes, listOnDocker } from '../kit/runtimes.ts'

/** Slow at every step, with one slow path, so that there is a request to drain. */
const app = (text: string) => `
import { createServer } from 'node:http'
const server = createServer((request, response) => {
  setTimeout(() => response.end(${JSON.stringify(text)}), request.url === '/slow' ? 900 : 0)
})
setTimeout(() => server.listen(process.env.PORT, process.env.HOST), 500)
process.on('SIGTERM', () => setTimeout(() => process.exit(0), 300))
`
const steps = ['fetch', 'plan', 'build', 'start', 'health', 'switch', 'drain', 'retire']
/** The moment between two steps: the image is built, and no record of it exists yet. */
const imageMade = 'the end of build'
/** The steps that call the engine; before and between them, a kill leaves the same state on either runtime. */
const onEngine = ['build', imageMade, 'start', 'health', 'retire']
const rollbackWindow = 2

describeOnRuntimes('kill -9 of the control plane at every step of a deployment', (runtime) => {
  let hosting: Hosting
  let folder: string
  let project: { id: string; slug: string }
  let version = 0

  beforeAll(async () => {
    hosting = await startHosting({ runtime, env: { BERTH_JOB_LEASE_SECONDS: '1' } })
    folder = join(hosting.folder, 'killed')
    await writeApp(folder, app('version 0'))
    const buildCommand = `node -e "setTimeout(() => {}, 600)"`
    const settings = { name: 'killed', localPath: folder, buildCommand, healthCheck: { path: '/' }, rollbackWindow }
    project = await hosting.makeProject(settings)
    const first = await hosting.settled(await hosting.deploy(project.id))
    expect(first.error).toBeNull()
  })
  afterAll(() => hosting?.[Symbol.asyncDispose]())

  test.each(runtime === 'docker' ? onEngine : steps)(
    'a kill at %s: the deployment goes live, no resource is orphaned, and the edge serves all the time',
    async (step) => {
      const host = `${project.slug}.localhost`
      await writeApp(folder, app(`version ${++version}`))
      const requests = keepRequesting(hosting.berth.edgeUrl, host)
      const slowly = keepRequesting(hosting.berth.edgeUrl, host, { path: '/slow', connections: 1 })
      const id = await hosting.deploy(project.id)
      const seen = await reach(id, step)
      await hosting.berth.kill9()
      await hosting.berth.restart()
      const deployment = await hosting.settled(id)
      await hosting.settled(id, (found) => found.status !== 'live' || isDone(found, 'retire'))
      const loads = await Promise.all([requests.stop(), slowly.stop()])
      expect({ seen, failures: loads.flatMap(({ failures }) => failures) }).toEqual({ seen: step, failures: [] })
      expect(deployment).toMatchObject({ status: 'live', error: null })
      expect((await hosting.get(host)).text).toBe(`version ${version}`)
      if (runtime === 'process') await expect.poll(onMachine).toEqual({ records: 1, builds: 0, groups: 1 })
      else await expect.poll(leftOnEngine).toEqual([])
    },
  )

  /** Polls without a pause: some steps last a few milliseconds. Returns the step that was reached. */
  async function reach(id: string, step: string): Promise<string> {
    for (;;) {
      const found = await hosting.deployment(id)
      const isMade = step === imageMade && (await listOnDocker(hosting.berth.dataFolder)).includes(`image artifact ${id}`)
      if (isMade) return found.sizeBytes ? 'too late' : step
      if (found.steps.some(({ name, status }) => name === step && status !== 'skipped')) return step
      if (isOver(found) && found.status !== 'live') return found.status
    }
  }

  const isDone = ({ steps: all }: Deployment, name: string) => all.find((one) => one.name === name)?.status === 'succeeded'

  /** Labelled objects on the engine without a record, and records without an object on the engine. */
  async function leftOnEngine(): Promise<string[]> {
    const { body } = await hosting.api('GET', `/projects/${project.id}/deployments`)
    const all: Deployment[] = body.data
    const live = all.find(({ status }) => status === 'live')
    const kept = all.filter(({ status }) => status === 'superseded').slice(0, rollbackWindow)
    const wanted = [
      `container instance ${live?.id} running`,
      ...[live, ...kept].map((one) => `image artifact ${one?.id}`),
      'network ',
    ]
    const found = await listOnDocker(hosting.berth.dataFolder)
    const isNew = (line: string, at: number, lines: string[]) => lines.indexOf(line) === at
    return [
      ...found.filter((line, at, lines) => !wanted.includes(line) || !isNew(line, at, lines)).map((line) => `left over: ${line}`),
      ...wanted.filter((line) => !found.includes(line)).map((line) => `missing: ${line}`),
    ]
  }

  /** The records of the process runtime, compared with the processes that really run this project's source. */
  async function onMachine() {
    const root = runtimeFolder(hosting.berth.dataFolder)
    const artifacts = await readdir(join(root, 'artifacts'))
    const unfinished = await Promise.all(
      artifacts.map((name) =>
        readFile(join(root, 'artifacts', name, 'artifact.json')).then(
          () => 0,
          () => 1,
        ),
      ),
    )
    return {
      records: (await readdir(join(root, 'instances'))).length,
      builds: unfinished.reduce((sum: number, one) => sum + one, 0),
      groups: (await processGroupsOf(join(root, 'artifacts'))).size,
    }
  }
})
