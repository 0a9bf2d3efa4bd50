import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { BackupPolicy, BackupRestore, BackupRun } from '@berth/contract'
import { pack } from 'tar-stream'
import type { ArchiveStore } from '../../src/drivers/archive-store/archive-store.ts'
import type { Parts } from '../../src/instance/assemble/assemble.ts'
import { type Scene as Deployments, setScene as setDeployments } from '../deployments/scene.ts'
import { type Answer, type CallInput, call } from '../kit/call.ts'

/** A project with a volume that is deployed in memory, and a destination that is a real folder. */
export interface Scene extends Deployments {
  projectId: string
  /** The engine's id of the volume `data`. */
  volumeId: string
  destinationId: string
  /** File names at the destination. */
  stored(): string[]
  makePolicy(body?: object): Promise<BackupPolicy>
  /** Starts a run and returns its id. */
  start(policyId: string): Promise<string>
  run(id: string): Promise<BackupRun>
  restore(id: string): Promise<BackupRestore>
  /** Resolves when the run has ended and all follow-up work is done. */
  ended(id: string): Promise<BackupRun>
  backUp(policyId: string): Promise<BackupRun>
  as(token: string, at: `${string} /${string}`, input?: CallInput): Promise<Answer>
  fill(files: Record<string, string>): Promise<void>
  /** Wraps the destination's store until the test is over. */
  withStore(changes: (store: ArchiveStore) => Partial<ArchiveStore>): void
}

export async function setScene(parts: Partial<Parts> = {}): Promise<Scene> {
  const deployments = await setDeployments(parts)
  const { instance, people } = deployments
  const as: Scene['as'] = (token, at, input) => call(instance, token, at as 'GET /', input)
  const owner = people.owner.token
  const destination = await as(owner, 'POST /backup-destinations', {
    body: { name: 'Disk', kind: 'local', config: { path: 'nightly' } },
  })
  const { id: destinationId, config } = destination.body.data
  const { id: projectId } = await deployments.makeApp()
  const volumes = [{ name: 'data', mountPath: '/data' }]
  await as(owner, 'PATCH /projects/:id', { params: { id: projectId }, body: { volumes } })
  await deployments.settled(await deployments.deploy(projectId))
  const volume = await instance.database.db
    .selectFrom('volumes')
    .select('id')
    .where('projectId', '=', projectId)
    .executeTakeFirstOrThrow()
  const run = async (runId: string) => (await as(owner, 'GET /backup-runs/:runId', { params: { runId } })).body.data
  const start = async (policyId: string) => {
    const { status, body } = await as(owner, 'POST /backup-policies/:policyId/run', { params: { policyId } })
    if (status !== 202) throw new Error(`it was not started: ${status} ${JSON.stringify(body)}`)
    return body.data.runId as string
  }
  const ended = async (id: string): Promise<BackupRun> => {
    await instance.jobs.whenIdle()
    return run(id)
  }
  const { aroundStores } = instance.drivers
  return {
    ...deployments,
    projectId,
    volumeId: volume.id,
    destinationId,
    stored: () => filesIn(config.path),
    async makePolicy(body = {}) {
      const answer = await as(owner, 'POST /projects/:projectId/backup-policies', {
        params: { projectId },
        body: { destinationId, ...body },
      })
      if (answer.status !== 201) throw new Error(`no policy: ${JSON.stringify(answer.body)}`)
      return answer.body.data
    },
    start,
    run,
    restore: async (restoreId) => (await as(owner, 'GET /backup-restores/:restoreId', { params: { restoreId } })).body.data,
    ended,
    backUp: async (policyId) => ended(await start(policyId)),
    as,
    async fill(files) {
      instance.drivers.runtime.volumes.set(volume.id, await tarOf(files))
    },
    withStore(changes) {
      aroundStores.wrap = (store) => Object.assign(Object.create(store), bound(store), changes(store))
    },
  }
}

/** The methods of a store, whether its own or inherited. */
const bound = (store: ArchiveStore): ArchiveStore => ({
  check: (abort) => store.check(abort),
  put: (name, content, abort) => store.put(name, content, abort),
  get: (name, abort, options) => store.get(name, abort, options),
  size: (name, abort) => store.size(name, abort),
  list: (prefix, abort) => store.list(prefix, abort),
  remove: (name, abort) => store.remove(name, abort),
  removeUnfinished: (olderThan, abort) => store.removeUnfinished(olderThan, abort),
  close: () => store.close(),
})

export function filesIn(folder: string): string[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort()
}

export async function tarOf(files: Record<string, string>): Promise<Buffer> {
  const archive = pack()
  for (const [name, content] of Object.entries(files)) archive.entry({ name, mtime: new Date(1_000_000) }, content)
  archive.finalize()
  const chunks: Buffer[] = []
  for await (const chunk of archive) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}
