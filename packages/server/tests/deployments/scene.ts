import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Deployment } from '@berth/contract'
import type { Parts } from '../../src/instance/assemble/assemble.ts'
import { type Answer, call } from '../kit/call.ts'
import { startInstance, type TestInstance } from '../kit/instance.ts'
import { makePeople, type People } from '../kit/people.ts'
import { makeProject } from '../kit/projects.ts'

/** An instance whose jobs run and whose projects live in memory, with a folder that can be deployed. */
export interface Scene {
  instance: TestInstance
  people: People
  url: string
  source: string
  makeApp(token?: string): Promise<{ id: string; slug: string }>
  /** Requests a deployment and returns its id. */
  deploy(projectId: string, body?: object): Promise<string>
  /** Deploys a project of these files, in a folder of that name, and returns its deployment. */
  deployFiles(name: string, files: Record<string, string>, fields?: object): Promise<Deployment>
  request(path: `${string} /${string}`, id: string, input?: object, token?: string): Promise<Answer>
  settled(id: string): Promise<Deployment>
  end(): Promise<void>
}

export async function setScene(parts: Partial<Parts> = {}, env: Record<string, string> = {}): Promise<Scene> {
  const root = mkdtempSync(join(tmpdir(), 'berth-deployments-'))
  const source = join(root, 'app')
  mkdirSync(source)
  writeFileSync(join(source, 'package.json'), JSON.stringify({ name: 'app', scripts: { start: 'node server.js' } }))
  writeFileSync(join(source, 'server.js'), '')
  const instance = await startInstance({ BERTH_PROJECT_ROOTS: root, BERTH_MAX_BUILDS: '8', ...env }, parts)
  const stopping = new AbortController()
  await instance.running?.start(stopping.signal)
  await instance.jobs.start()
  const url = await instance.app.listen({ host: '127.0.0.1', port: 0 })
  const people = await makePeople(instance)
  const request: Scene['request'] = (at, id, input = {}, token = people.member.token) =>
    call(instance, token, at as 'GET /', { params: { id }, ...input })
  const get = async (id: string): Promise<Deployment> => (await request('GET /deployments/:id', id)).body.data
  const deploy: Scene['deploy'] = async (projectId, body = {}) => {
    const answer = await call(instance, people.member.token, 'POST /deployments/build/access', { body: { projectId, ...body } })
    if (answer.status !== 202) throw new Error(`the deployment was not accepted: ${JSON.stringify(answer)}`)
    return answer.body.data.deploymentId
  }
  const settled: Scene['settled'] = async (id) => {
    for (;;) {
      const deployment = await get(id)
      if (!['queued', 'building', 'deploying'].includes(deployment.status)) return deployment
      await new Promise((resolve) => setTimeout(resolve, 15))
    }
  }
  return {
    instance,
    people,
    url,
    source,
    makeApp: (token = people.admin.token) => makeProject(instance, token, { localPath: source }),
    deploy,
    async deployFiles(name, files, fields = {}) {
      const localPath = join(root, name)
      for (const [file, text] of Object.entries(files)) {
        mkdirSync(dirname(join(localPath, file)), { recursive: true })
        writeFileSync(join(localPath, file), text)
      }
      const { id } = await makeProject(instance, people.admin.token, { localPath, ...fields })
      return settled(await deploy(id))
    },
    request,
    settled,
    async end() {
      stopping.abort()
      await instance.jobs.stop({ graceMs: 1_000 })
      await instance.running?.stop()
      await instance.stop()
      rmSync(root, { recursive: true, force: true })
    },
  }
}

/** A build that waits until the test releases it, or until it is cancelled. */
export function held(): {
  whileBuilding: TestInstance['drivers']['runtime']['whileBuilding']
  begun: Promise<void>
  release(): void
} {
  const begun = Promise.withResolvers<void>()
  const going = Promise.withResolvers<void>()
  return {
    begun: begun.promise,
    release: () => going.resolve(),
    async whileBuilding(_, report, abort) {
      report('building')
      begun.resolve()
      await Promise.race([
        going.promise,
        new Promise((_resolve, reject) => abort.addEventListener('abort', () => reject(abort.reason))),
      ])
      report('built')
    },
  }
}
