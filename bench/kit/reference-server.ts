import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startDaemon } from '../../tests/kit/daemon.ts'
import { tempFolder } from '../../tests/kit/temp-folder.ts'

export interface ReferenceServer extends AsyncDisposable {
  readonly url: string
  readonly pid: number
}

/** A bare Fastify server that answers every request for `/` with this JSON text. */
export const startReferenceServer = (body: string): Promise<ReferenceServer> => startFloor('reference-server-process.ts', body)

/** A server that answers every `PATCH /` with this JSON text, once a row is committed to SQLite. */
export const startWriteFloor = (body: string): Promise<ReferenceServer> => startFloor('write-floor-process.ts', body)

async function startFloor(name: string, body: string): Promise<ReferenceServer> {
  const folder = await tempFolder('reference')
  const file = join(folder.path, 'body.json')
  await writeFile(file, body)
  const args = [join(import.meta.dirname, name), file, join(folder.path, 'floor.db')]
  const daemon = await startDaemon({ program: process.execPath, args, ready: /listening at \S+\n/ })
  const [, url] = /listening at (\S+)\n/.exec(daemon.output())!
  return {
    url: `${url}/`,
    pid: daemon.pid,
    async [Symbol.asyncDispose]() {
      await daemon.stop(3000)
      await folder.remove()
    },
  }
}
