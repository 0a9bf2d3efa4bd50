import { chmodSync, rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import type { Log } from '../log.ts'
import { socketAddress } from '../socket-path.ts'
import { Listeners } from './listeners.ts'
import type { WireMessage } from './notify-batcher.ts'
import type { Signals } from './signals.ts'
import { everyTopic, SignalLink } from './wire.ts'

/**
 * Signals of the process that has locked a data folder. Other processes on the folder connect to its socket; what one of them
 * publishes reaches the listeners here and all the others.
 */
export async function signalHub(path: string, log: Log): Promise<Signals> {
  const listeners = new Listeners(log)
  const links = new Map<Socket, SignalLink>()
  const passOn = ({ topic, event }: WireMessage, from?: Socket) => {
    for (const [socket, link] of links) {
      if (socket === from) continue
      if (event) link.add(topic, event)
      else link.addReread(topic)
    }
  }
  const server = createServer((socket) => {
    const link = new SignalLink()
    links.set(socket, link)
    socket.on('error', (err) => log.debug({ err }, 'signals: connection failed'))
    socket.once('close', () => {
      links.delete(socket)
      // The other process may have died between a commit and its signal.
      listeners.deliverToAll({ reread: true })
      passOn({ topic: everyTopic })
    })
    link.open(socket, (message) => {
      passOn(message, socket)
      listeners.deliver(message.topic, message.event ?? { reread: true })
    })
  })
  await listen(server, path)
  return {
    publish(topic, event) {
      listeners.deliver(topic, event)
      passOn({ topic, event })
    },
    subscribe: (topic, listener) => listeners.add(topic, listener),
    async close() {
      listeners.clear()
      const closed = new Promise((resolve) => server.close(resolve))
      for (const [socket, link] of links) {
        link.flush()
        socket.destroy()
      }
      await closed
    },
  }
}

/** The caller has locked the folder, so a socket that exists is left over from a process that was killed. */
async function listen(server: Server, path: string): Promise<void> {
  rmSync(path, { force: true })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(socketAddress(path), resolve)
  })
  chmodSync(path, 0o600)
}
