import type { Runtime } from '../../drivers/runtime/runtime.ts'

export interface ListeningAt {
  port: number
  /** Only programs of the same container reach it. */
  isLoopback: boolean
}

const readMs = 5_000
const bytesAtMost = 256 * 1024
const listening = '0A'
/** The engine's own answers to names, in every container of a network. */
const nameServer = /^0B00007F$/

/** Where programs in a container listen, as the kernel tells it inside; null where it cannot be asked. */
export async function listeningInside(runtime: Runtime, instanceId: string): Promise<ListeningAt[] | null> {
  if (runtime.kind !== 'docker') return null
  let text = ''
  const onStdout = (chunk: Uint8Array) => {
    if (text.length < bytesAtMost) text += Buffer.from(chunk).toString('latin1')
  }
  try {
    // One of the two files may be missing; what there is was written by then.
    await runtime.exec(instanceId, { argv: ['cat', '/proc/net/tcp', '/proc/net/tcp6'], onStdout }, AbortSignal.timeout(readMs))
  } catch {
    return null
  }
  return text.includes('local_address') ? listenersIn(text) : null
}

/** From the kernel's table: `sl local_address rem_address st …`, addresses in hexadecimal. */
export function listenersIn(table: string): ListeningAt[] {
  const found = new Map<number, ListeningAt>()
  for (const line of table.slice(0, bytesAtMost).split('\n')) {
    const [, local = '', , state] = line.trim().split(/ +/, 4)
    const [address = '', port = ''] = local.split(':')
    if (state !== listening || !/^[0-9A-F]{4}$/.test(port) || nameServer.test(address)) continue
    const number = Number.parseInt(port, 16)
    const isLoopback = isLoopbackHex(address) && found.get(number)?.isLoopback !== false
    found.set(number, { port: number, isLoopback })
  }
  return [...found.values()].sort((left, right) => left.port - right.port)
}

/** 127.x.y.z, ::1, or the former written as the latter; the kernel prints the bytes of each word backwards. */
const isLoopbackHex = (address: string) =>
  /^[0-9A-F]{6}7F$/.test(address) || /^0{24}01000000$/.test(address) || /^0{16}FFFF0000[0-9A-F]{6}7F$/.test(address)
