import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startDaemon } from '../../tests/kit/daemon.ts'
import { tempFolder } from '../../tests/kit/temp-folder.ts'

export interface ReferenceServer extends AsyncDisposable {
  readonly url: string
  readonly pid: number
}

/** A bare Fastify server that answers every request for `/` with this JSON text. */
export async function startReferenceServer(body: string): Promise<ReferenceServer> {
  const folder = await tempFolder('reference')
  const file = join(folder.path, 'body.json')
  await writeFile(file, body)
  const program = join(import.meta.dirname, 'reference-server-process.ts')
  const daemon = await startDaemon({ program: process.execPath, args: [program, file], ready: /listening at \S+\n/ })
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
