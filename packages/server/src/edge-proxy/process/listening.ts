import net from 'node:net'
import type { EdgeAddress, EdgeListening } from '../protocol/edge-listening.ts'
import type { EdgeSettings } from '../protocol/edge-settings.ts'

/** The listening sockets. A successor process takes them over and keeps them open. */
export interface Listening {
  http: net.Server
  https: net.Server | undefined
}

const backlog = 1_024

/** Opens the sockets; `onServer` is called before a connection can arrive. Fails if an address is in use. */
export async function listen(
  settings: EdgeSettings,
  onServer: (server: net.Server, name: 'http' | 'https') => void,
): Promise<Listening> {
  const http = net.createServer()
  onServer(http, 'http')
  await openSocket(http, settings.http)
  if (!settings.https) return { http, https: undefined }
  const https = net.createServer()
  onServer(https, 'https')
  await openSocket(https, settings.https)
  return { http, https }
}

export const portOf = (server: net.Server | undefined): number => addressOf(server)?.port ?? 0

/** nginx listens in front of an edge with a unix socket. */
export const listeningOf = (listening: Listening, { front, http, https }: EdgeSettings): EdgeListening =>
  front ? { http, https } : ownListening(listening)

const ownListening = (listening: Listening): EdgeListening => ({
  http: addressOf(listening.http)!,
  https: addressOf(listening.https) ?? null,
})

function addressOf(server: net.Server | undefined): EdgeAddress | undefined {
  const address = server?.address()
  return typeof address === 'object' && address !== null ? { host: address.address, port: address.port } : undefined
}

function openSocket(server: net.Server, { host, port }: EdgeAddress): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port, backlog }, () => {
      server.off('error', reject)
      server.on('error', (error) => console.error('edge: listening socket failed:', error.message))
      resolve()
    })
  })
}
