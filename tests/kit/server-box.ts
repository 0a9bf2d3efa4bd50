import type { Hosting } from './hosting.ts'
import { partOf } from './machine.ts'
import { serverRemover } from './runtimes.ts'
import { type Sshd, startSshd } from './sshd.ts'
import { startWeakLink, type WeakLink } from './weak-link.ts'

/** A server of an instance: this machine's engine behind a real sshd, over a link that can be cut. */
export interface ServerBox extends AsyncDisposable {
  readonly serverId: string
  readonly sshd: Sshd
  readonly link: WeakLink
}

/** Base images for a server, for an instance whose own projects are processes. */
export const serverImages = (): NodeJS.ProcessEnv => ({
  BERTH_BASE_IMAGE_NODE: partOf('nodeImage'),
  BERTH_BASE_IMAGE_STATIC: partOf('nodeImage'),
})

/** `password`: the login uses it instead of a key. */
export async function addServerBox(hosting: Hosting, { password }: { password?: string } = {}): Promise<ServerBox> {
  const sshd = await startSshd(partOf('sshd'), password === undefined ? {} : { password })
  const link = await startWeakLink(sshd.port)
  const { host, user, privateKey } = sshd
  const login = password === undefined ? { privateKey } : { password }
  const body = { name: 'box', host, port: link.port, user, ...login, dockerSocket: partOf('docker') }
  const answer = await hosting.api('POST', '/servers', body)
  if (answer.status !== 201) throw new Error(`the server was not added: ${JSON.stringify(answer)}`)
  const serverId: string = answer.body.data.id
  return {
    serverId,
    sshd,
    link,
    /** Must run before the instance is removed: the objects to remove from the engine are named in its data folder. */
    async [Symbol.asyncDispose]() {
      link.mend()
      const remove = serverRemover(hosting.berth.dataFolder, serverId)
      await hosting.berth.stop()
      await remove()
      await link[Symbol.asyncDispose]()
      await sshd[Symbol.asyncDispose]()
    },
  }
}
