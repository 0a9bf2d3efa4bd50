import { rm } from 'node:fs/promises'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { tempFolder } from './temp-folder.ts'
import { joinPair, partPair } from './weak-link.ts'

/** A Unix socket that forwards to the socket of a Docker engine, and that a test can disconnect. */
export interface WeakSocket extends AsyncDisposable {
  readonly path: string
  /** `gone`: as if the engine were killed. `silent`: connections are accepted but carry no data, as if SIGSTOP had stopped the engine. */
  cut(manner: 'gone' | 'silent'): Promise<void>
  mend(): Promise<void>
}

export async function startWeakSocket(target: string): Promise<WeakSocket> {
  const folder = await tempFolder('weak-socket')
  const path = join(folder.path, 'docker.sock')
  const pairs = new Set<[Socket, Socket]>()
  let isSilent = false
  let server: Server | undefined
  const listen = async () => {
    server = createServer({ allowHalfOpen: true }, (near) => {
      near.on('error', () => undefined)
      const far = connect({ path: target, allowHalfOpen: true }).on('error', () => undefined)
      const pair: [Socket, Socket] = [near, far]
      pairs.add(pair)
      near.once('close', () => far.destroy())
      far.once('close', () => near.destroy())
      far.once('close', () => pairs.delete(pair))
      joinPair(pair)
      if (isSilent) partPair(pair)
    })
    await new Promise<void>((done) => server?.listen(path, done))
  }
  const close = async () => {
    const closed = new Promise((done) => server?.close(done) ?? done(undefined))
    server = undefined
    for (const pair of pairs) for (const socket of pair) socket.destroy()
    await closed
    await rm(path, { force: true })
  }
  await listen()
  return {
    path,
    async cut(manner) {
      if (manner === 'gone') return close()
      isSilent = true
      for (const pair of pairs) partPair(pair)
    },
    async mend() {
      if (isSilent) for (const pair of pairs) joinPair(pair)
      isSilent = false
      if (!server) await listen()
    },
    async [Symbol.asyncDispose]() {
      if (server) await close()
      await folder.remove()
    },
  }
}
