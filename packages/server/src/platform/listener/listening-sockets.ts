import { type FileHandle, open } from 'node:fs/promises'
import { isIPv4 } from 'node:net'
import { endianness } from 'node:os'
import { setImmediate as yieldToOthers } from 'node:timers/promises'
import type { ListenerAddress } from './listener-owner.ts'

export interface ListeningSocket {
  uid: number
  inode: string
}

/** Maximum bytes read of the kernel's socket list per protocol, since a project controls how many listeners it opens. */
const maxBytes = 8 * 1024 * 1024
const pieceBytes = 65_536
/** Values of the state column, after both addresses: a listening socket, and a connection that has not been accepted yet. */
const states = { listening: '0A', incoming: '03' }

/** The machine's listening sockets, read from the kernel at the first call. */
export class ListeningSockets {
  #ipv4: Promise<string> | undefined
  #ipv6: Promise<string> | undefined
  #all: Promise<readonly (ListeningSocket & ListenerAddress)[]> | undefined

  /**
   * The sockets that receive a connection to the address. The kernel prefers a socket on the exact address to a wildcard socket,
   * and IPv4 to IPv6; several sockets on the same address share the connections (SO_REUSEPORT).
   */
  async at({ host, port }: ListenerAddress): Promise<ListeningSocket[]> {
    if (!isIPv4(host)) return []
    const address = hexOfIPv4(host)
    const paths: [text: () => Promise<string>, address: string][] = [
      [() => this.#textOfIPv4(), address],
      [() => this.#textOfIPv6(), `${'0'.repeat(16)}${hexOfIPv4('0.0.255.255')}${address}`],
      [() => this.#textOfIPv4(), '0'.repeat(8)],
      [() => this.#textOfIPv6(), '0'.repeat(32)],
    ]
    const number = port.toString(16).toUpperCase().padStart(4, '0')
    for (const [text, local] of paths) {
      const found = socketsIn(await text(), `${local}:${number}`)
      if (found.length > 0) return found
    }
    return []
  }

  /** All listening sockets, with host and port in readable form. */
  all(): Promise<readonly (ListeningSocket & ListenerAddress)[]> {
    this.#all ??= this.#readAll()
    return this.#all
  }

  async #readAll(): Promise<(ListeningSocket & ListenerAddress)[]> {
    const found: (ListeningSocket & ListenerAddress)[] = []
    for (const text of [await this.#textOfIPv4(), await this.#textOfIPv6()])
      for (let from = 0; from < text.length; ) {
        const end = text.indexOf('\n', from + pieceBytes)
        for (const listener of listenersIn(text.slice(from, end === -1 ? text.length : end))) found.push(listener)
        from = end === -1 ? text.length : end
        if (from < text.length) await yieldToOthers()
      }
    return found
  }

  #textOfIPv4(): Promise<string> {
    this.#ipv4 ??= listenersOf('/proc/net/tcp')
    return this.#ipv4
  }

  #textOfIPv6(): Promise<string> {
    this.#ipv6 ??= listenersOf('/proc/net/tcp6')
    return this.#ipv6
  }
}

/** The kernel prints an IPv4 address as a number in the machine's byte order. */
function hexOfIPv4(host: string): string {
  const bytes = host.split('.').map((part) => Number(part).toString(16).toUpperCase().padStart(2, '0'))
  return (endianness() === 'LE' ? bytes.reverse() : bytes).join('')
}

function socketsIn(text: string, local: string): ListeningSocket[] {
  const found: ListeningSocket[] = []
  for (let at = text.indexOf(` ${local} `); at !== -1; at = text.indexOf(` ${local} `, at + 1)) {
    const end = text.indexOf('\n', at)
    const fields = text.slice(at + 1, end === -1 ? undefined : end).split(/ +/)
    if (fields[2] === states.listening) found.push({ uid: Number(fields[6]), inode: fields[8] ?? '' })
  }
  return found
}

const recentMs = 250

/**
 * A socket list that may be up to `recentMs` old, for frequent concurrent callers. Each read takes the kernel ten milliseconds,
 * because it walks its whole connection table.
 */
export class RecentSockets {
  #sockets = new ListeningSockets()
  #readAt = Number.NEGATIVE_INFINITY

  get(): ListeningSockets {
    const now = performance.now()
    if (now - this.#readAt < recentMs) return this.#sockets
    this.#readAt = now
    this.#sockets = new ListeningSockets()
    return this.#sockets
  }
}

/** Parses the kernel's list: `sl local_address rem_address st …`, addresses in hexadecimal. Other lines are skipped. */
export function listenersIn(text: string): (ListeningSocket & ListenerAddress)[] {
  return text.split('\n').flatMap((line) => {
    const [, local = '', , state, , , , uid, , inode = ''] = line.trim().split(/ +/, 10)
    const [, address = '', port = ''] = localAddress.exec(local) ?? []
    if (state !== states.listening || port === '') return []
    return [
      {
        host: address.length === 8 ? ipv4Of(address) : ipv6Of(address),
        port: Number.parseInt(port, 16),
        uid: Number(uid),
        inode,
      },
    ]
  })
}

const localAddress = /^([0-9A-F]{8}|[0-9A-F]{32}):([0-9A-F]{4})$/

/** The bytes of one number of the kernel's list in network byte order. */
function bytesOf(hexWord: string): number[] {
  const bytes = [...Buffer.from(hexWord, 'hex')]
  return endianness() === 'LE' ? bytes.reverse() : bytes
}

const ipv4Of = (hexWord: string) => bytesOf(hexWord).join('.')

function ipv6Of(hex: string): string {
  const bytes = (hex.match(/.{8}/g) ?? []).flatMap(bytesOf)
  const isMapped = bytes.slice(0, 12).join() === '0,0,0,0,0,0,0,0,0,0,255,255'
  if (isMapped) return bytes.slice(12).join('.')
  const groups = Array.from({ length: 8 }, (_, at) => (((bytes[at * 2] ?? 0) << 8) | (bytes[at * 2 + 1] ?? 0)).toString(16))
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1)
}

/** Listening sockets come first, so reading stops at the first connection. A missing file means no listeners. */
async function listenersOf(file: string): Promise<string> {
  let handle: FileHandle
  try {
    handle = await open(file, 'r')
  } catch {
    return ''
  }
  const parts: string[] = []
  try {
    const buffer = Buffer.allocUnsafe(pieceBytes)
    for (let bytes = 0; bytes < maxBytes; ) {
      const { bytesRead } = await handle.read(buffer, 0, buffer.length, null)
      if (bytesRead === 0) break
      bytes += bytesRead
      const part = buffer.toString('latin1', 0, bytesRead)
      parts.push(part)
      if (endsInConnections(part)) break
    }
  } finally {
    await handle.close()
  }
  return parts.join('')
}

/** The kernel returns whole lines. */
function endsInConnections(part: string): boolean {
  const line = part
    .slice(part.lastIndexOf('\n', part.length - 2) + 1)
    .trim()
    .split(/ +/)
  return line[0] !== 'sl' && line[3] !== states.listening && line[3] !== states.incoming
}
