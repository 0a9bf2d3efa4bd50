import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A TCP proxy in front of a server, whose connections a test can cut. */
export interface WeakLink extends AsyncDisposable {
  readonly port: number
  /**
   * `reset`: connections end immediately, new ones are refused. `silent`: nothing is transmitted and neither side is notified, as
   * when a cable is pulled.
   */
  cut(manner: 'reset' | 'silent'): void
  mend(): void
}

/** Starts a proxy on a loopback port that forwards to another loopback port. */
export async function startWeakLink(port: number): Promise<WeakLink> {
  let manner: 'reset' | 'silent' | null = null
  const pairs = new Set<[Socket, Socket]>()
  const server = createServer({ allowHalfOpen: true }, (near) => {
    near.on('error', () => undefined)
    if (manner === 'reset') return void near.resetAndDestroy()
    const far = connect({ port, host: '127.0.0.1', allowHalfOpen: true }).on('error', () => undefined)
    const pair: [Socket, Socket] = [near, far]
    pairs.add(pair)
    near.once('close', () => far.destroy())
    far.once('close', () => near.destroy())
    far.once('close', () => pairs.delete(pair))
    joinPair(pair)
    if (manner === 'silent') partPair(pair)
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return {
    port: (server.address() as AddressInfo).port,
    cut(how) {
      manner = how
      for (const pair of pairs) {
        if (how === 'silent') partPair(pair)
        else for (const socket of pair) socket.resetAndDestroy()
      }
    },
    mend() {
      if (manner === 'silent') for (const pair of pairs) joinPair(pair)
      manner = null
    },
    async [Symbol.asyncDispose]() {
      for (const [near, far] of pairs) {
        near.destroy()
        far.destroy()
      }
      await new Promise((done) => server.close(done))
    },
  }
}

export const joinPair = ([near, far]: [Socket, Socket]) => {
  near.pipe(far)
  far.pipe(near)
}

export const partPair = (pair: [Socket, Socket]) => {
  for (const socket of pair) socket.unpipe().pause()
}
