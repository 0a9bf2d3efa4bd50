import { Readable } from 'node:stream'
import type { Container } from 'dockerode'
import { readTar } from '../../../tar/read-tar.ts'
import { encodeHeader, type TarHeader, tarEnd } from '../../../tar/tar-header.ts'
import { folderEntry, smallTar } from '../../../tar/write-tar.ts'
import { callEngine, callEngineOrMissing, type Engine } from '../engine.ts'
import type { Labels } from '../labels.ts'

const emptyImage = 'berth/empty:1'
/** Mount path of the volume in a helper container. */
export const mountPoint = '/volume'
const transferTimeoutMs = 6 * 60 * 60_000

/** Mount of a volume. An adopted one may be a path on the engine's machine, which the engine refuses if it does not exist. */
export const mountOf = (name: string) => ({ Type: isPath(name) ? ('bind' as const) : ('volume' as const), Source: name })
export const isPath = (name: string) => name.startsWith('/')

interface HelperParts {
  engine: Engine
  labels: Labels
}

/** Creates a container that is never started, through which the engine reads and writes the volume. The caller removes it. */
export async function makeHelper(volume: string, { engine, labels }: HelperParts, abort: AbortSignal): Promise<Container> {
  await ensureEmptyImage(engine, abort)
  return callEngine(
    (abortSignal) =>
      engine.createContainer({
        Image: emptyImage,
        Cmd: ['never'],
        Labels: labels.of('helper'),
        HostConfig: { Mounts: [{ ...mountOf(volume), Target: mountPoint }], NetworkMode: 'none' },
        abortSignal,
      }),
    { abort },
  )
}

export const removeHelper = (helper: Container) =>
  callEngine((abortSignal) => helper.remove({ force: true, abortSignal })).catch(() => undefined)

async function ensureEmptyImage(engine: Engine, abort: AbortSignal): Promise<void> {
  if (await callEngineOrMissing(() => engine.getImage(emptyImage).inspect(), { abort })) return
  const [repo, tag] = emptyImage.split(':')
  const stream = await engine.importImage(Readable.from([tarEnd]), {
    repo,
    tag,
    changes: 'LABEL berth.kind=helper',
    abortSignal: abort,
  })
  for await (const _line of stream) void _line
}

/** Whether the folder has the owner and mode of a new volume. */
export const hasDefaultOwner = ({ uid, gid, mode }: TarHeader) => !uid && !gid && (mode & 0o7777) === 0o755

/** Tar entry with the owner of the volume's own folder. Without it an unprivileged program could not write there after a restore. */
export const topFolderEntry = ({ uid, gid, mode, mtime }: TarHeader) =>
  encodeHeader({ name: './', type: 'directory', size: 0, mode, uid, gid, mtime, linkname: '' })

/** Archive that changes the owner of a mounted folder. The engine applies it by the folder's path, but not by `./`. */
export function folderArchive(path: string, { uid, gid, mode }: Pick<TarHeader, 'uid' | 'gid' | 'mode'>): Readable {
  const name = `${path.replace(/^\/+|\/+$/g, '')}/`
  return Readable.from([smallTar(folderEntry({ name, uid, gid, mode }))])
}

export async function putArchive(container: Container, path: string, tar: Readable, abort: AbortSignal): Promise<void> {
  await callEngine((abortSignal) => container.putArchive(tar, { path, abortSignal }), { abort, timeoutMs: transferTimeoutMs })
}

/** Reads the first entries of an archive and stops. The first is the folder itself. */
export async function firstEntries(container: Container, path: string, count: number, abort: AbortSignal): Promise<TarHeader[]> {
  const end = new AbortController()
  const stream = await container.getArchive({ path, abortSignal: AbortSignal.any([abort, end.signal]) })
  const headers: TarHeader[] = []
  try {
    for await (const { header } of readTar(stream as AsyncIterable<Buffer>)) {
      headers.push(header)
      if (headers.length >= count) break
    }
  } catch (error) {
    abort.throwIfAborted()
    if (headers.length < count) throw error
  } finally {
    end.abort()
  }
  return headers
}
