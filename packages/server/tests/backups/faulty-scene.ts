import { createHash } from 'node:crypto'
import { FaultyLocation } from '../../src/drivers/archive-store/test-faults.ts'
import { withRetries } from '../../src/drivers/archive-store/with-retries.ts'
import { withTimeLimit } from '../../src/drivers/archive-store/with-time-limit.ts'
import { readTar } from '../../src/drivers/tar/read-tar.ts'
import type { Parts } from '../../src/instance/assemble/assemble.ts'
import type { Manifest } from '../../src/modules/backups/content/manifest.ts'
import { keepSchedules } from '../kit/kept-schedules.ts'
import { type Scene, setScene } from './scene.ts'

/** A scene whose destination fails on request, inside the usual wrappers of a destination, with a clock that tests can move. */
export interface FaultyScene extends Scene {
  place: FaultyLocation
  /** Moves the clock, and waits until all due work is done. */
  pass(ms: number, jobs?: { whenIdle(): Promise<void> }): Promise<void>
  /** The files of the first volume of a run, read from the destination by its manifest alone; by the hash of their content. */
  savedFiles(runId: string): Promise<Record<string, string>>
}

/** The schedules that the end of a run or restore depends on. */
export const schedulesOfBackups = ['backups.prune-all', 'backups.key', 'projects.sweep-operations', 'jobs.prune']

const neverAborted = new AbortController().signal
/** Long enough for a busy machine; a test that expects no event need not wait. */
const silentMs = ({ hangs }: FaultyLocation) => (hangs ? 250 : 60_000)

export async function setFaultyScene(parts: Partial<Parts> = {}): Promise<FaultyScene> {
  let moved = 0
  const scene = await setScene({ clock: { now: () => new Date(Date.now() + moved) }, ...parts })
  const location = new FaultyLocation()
  const { drivers, database, jobs } = scene.instance
  await keepSchedules(database, schedulesOfBackups)
  drivers.aroundStores.wrap = (store) =>
    withRetries(withTimeLimit(location.around(store), silentMs(location)), { attempts: 2, firstPauseMs: 1 })
  return {
    ...scene,
    place: location,
    async pass(ms, of = jobs) {
      moved += ms
      database.signals.publish('jobs', { due: true })
      await of.whenIdle()
    },
    async savedFiles(runId) {
      const { config } = (
        await scene.as(scene.people.owner.token, 'GET /backup-destinations/:id', { params: { id: scene.destinationId } })
      ).body.data
      const store = await drivers.stores.open({ kind: 'local', path: config.path, root: config.path })
      const archives = await drivers.archives()
      const sealed: Uint8Array[] = []
      const name = scene.stored().find((one) => one.includes(`${runId}/manifest`)) as string
      for await (const chunk of store.get(name, neverAborted)) sealed.push(chunk)
      const manifest: Manifest = JSON.parse(Buffer.from(await archives.unseal(Buffer.concat(sealed), 1e8)).toString('utf8'))
      const [artifact] = manifest.artifacts
      return artifact ? hashed(archives.read(artifact.index, { store, abort: neverAborted })) : {}
    },
  }
}

async function hashed(tar: AsyncIterable<Uint8Array>): Promise<Record<string, string>> {
  const found: Record<string, string> = {}
  for await (const { header, content } of readTar(tar)) {
    const hash = createHash('sha256')
    for await (const chunk of content) hash.update(chunk)
    found[header.name] = hash.digest('hex')
  }
  return found
}
