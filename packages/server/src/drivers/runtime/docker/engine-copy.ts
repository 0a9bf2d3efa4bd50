import { Readable } from 'node:stream'
import type { VolumeRef } from '../runtime.ts'
import { callEngine, callEngineOrMissing, engineUnreachableAt, openEngine } from './engine.ts'
import { readIdentity } from './identity.ts'
import { Labels } from './labels.ts'
import { Volumes } from './run/volumes.ts'

const checkTimeoutMs = 5_000
const transferTimeoutMs = 6 * 60 * 60_000

/** Reads and writes a Berth's images and volumes in an engine, beside a running control plane. Touches nothing else. */
export interface EngineCopy {
  /** The images of this Berth that exist. */
  ownImages(references: readonly string[]): Promise<string[]>
  /** Images in the format of `docker save`. Shared layers are included once. */
  saveImages(references: readonly string[], abort: AbortSignal): AsyncIterable<Uint8Array>
  loadImages(tar: AsyncIterable<Uint8Array>, abort: AbortSignal): Promise<void>
  readVolume(id: string, abort: AbortSignal): AsyncIterable<Uint8Array>
  /** Writes a volume. Returns false and writes nothing if the engine already has data of that volume: it is newer than any archive. */
  restoreVolume(volume: VolumeRef, tar: AsyncIterable<Uint8Array>, abort: AbortSignal): Promise<boolean>
}

/** Opens the engine. `folder` is that of the docker runtime. Rejects with `EngineUnreachable` if no engine responds. */
export async function openEngineCopy({ socketPath, folder }: { socketPath: string; folder: string }): Promise<EngineCopy> {
  const engine = openEngine(socketPath)
  await callEngine(() => engine.version(), { timeoutMs: checkTimeoutMs }).catch((error: unknown) => {
    throw engineUnreachableAt(socketPath, error)
  })
  const labels = new Labels(readIdentity(folder).instance)
  const volumes = new Volumes(engine, labels, folder)
  return {
    async ownImages(references) {
      const own: string[] = []
      for (const reference of new Set(references)) {
        const found = await callEngineOrMissing((abortSignal) => engine.getImage(reference).inspect({ abortSignal } as object))
        if (found && labels.isThisBerth(found.Config?.Labels)) own.push(reference)
      }
      return own
    },
    async *saveImages(references, abort) {
      const request = { path: '/images/get?', method: 'GET', options: { names: [...references] }, isStream: true }
      const stream = await callEngine(
        (abortSignal) =>
          new Promise<AsyncIterable<Uint8Array>>((resolve, reject) =>
            engine.modem.dial(
              { ...request, abortSignal, statusCodes: { 200: true, 404: 'no such image', 500: 'the engine failed' } },
              (error: unknown, data: unknown) => (error ? reject(error) : resolve(data as AsyncIterable<Uint8Array>)),
            ),
          ),
        { abort, timeoutMs: transferTimeoutMs },
      )
      yield* stream
    },
    async loadImages(tar, abort) {
      const progress = await callEngine(() => engine.loadImage(Readable.from(tar), { quiet: true }), {
        abort,
        timeoutMs: transferTimeoutMs,
      })
      await new Promise<void>((resolve, reject) =>
        engine.modem.followProgress(progress, (error) => (error ? reject(error) : resolve())),
      )
    },
    readVolume: (id, abort) => volumes.read(id, abort),
    async restoreVolume(volume, tar, abort) {
      if (await volumes.adoptExisting(volume.id)) return false
      await volumes.create(volume)
      await volumes.write(volume.id, tar, abort)
      return true
    },
  }
}
