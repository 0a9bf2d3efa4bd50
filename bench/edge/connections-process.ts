/*
 * Holds connections to a proxy, as its parent asks over the channel: idle ones after one response each, or ones that send a header
 * line a second and never end their head.
 */
import net from 'node:net'
import tls from 'node:tls'

export type Order = { open: number } | { attack: number }
export interface Report {
  open: number
  /** Connections that the proxy has closed, or refused. */
  closed: number
}

const [port, hostname, protocol] = process.argv.slice(2) as [string, string, 'http' | 'https']
const request = `GET / HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`
const secureContext = tls.createSecureContext()
const open = new Set<net.Socket>()
const parallel = 32
/** The attack comes from as many addresses, since one address has a share of the connections only. */
const attackers = 10
const ticksPerSecond = 10
let closed = 0

process.on('message', (order: Order) => {
  if ('open' in order) void openIdle(order.open).then(report)
  else startAttack(order.attack)
})
process.on('disconnect', () => process.exit(0))

const report = () => process.send!({ open: open.size, closed } satisfies Report)

async function openIdle(count: number): Promise<void> {
  let left = count
  const next = async () => {
    while (left > 0) {
      left -= 1
      await openOne()
    }
  }
  await Promise.all(Array.from({ length: parallel }, next))
}

/** Resolves once the response has arrived. */
function openOne(): Promise<void> {
  const target = { host: '127.0.0.1', port: Number(port) }
  const socket =
    protocol === 'http'
      ? net.connect(target)
      : tls.connect({ ...target, servername: hostname, secureContext, rejectUnauthorized: false })
  return new Promise((resolve) => {
    track(socket, () => resolve())
    socket.on(protocol === 'http' ? 'connect' : 'secureConnect', () => socket.write(request))
    socket.on('data', () => resolve())
  })
}

function track(socket: net.Socket, onClosed: () => void): void {
  open.add(socket)
  socket.on('error', () => {})
  socket.on('close', () => {
    open.delete(socket)
    closed += 1
    onClosed()
  })
}

/** Opens as many slow connections, spread over ten seconds' tenths; a closed one is opened again in its next turn. */
function startAttack(count: number): void {
  const slots: (net.Socket | undefined)[] = Array.from({ length: count })
  let tick = 0
  setInterval(() => {
    for (let at = tick % ticksPerSecond; at < count; at += ticksPerSecond) slots[at] = sendHeader(slots[at], at)
    if (tick % ticksPerSecond === 0) report()
    tick += 1
  }, 1000 / ticksPerSecond)
}

function sendHeader(socket: net.Socket | undefined, at: number): net.Socket {
  if (socket && !socket.destroyed) {
    socket.write(`X-Slow-${at}: 1\r\n`)
    return socket
  }
  const created = net.connect({ host: '127.0.0.1', port: Number(port), localAddress: `127.0.1.${1 + (at % attackers)}` })
  track(created, () => {})
  created.resume()
  created.write(`GET / HTTP/1.1\r\nHost: ${hostname}\r\n`)
  return created
}
