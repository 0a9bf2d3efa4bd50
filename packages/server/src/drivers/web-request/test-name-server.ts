import { createSocket } from 'node:dgram'

/** A real DNS server on loopback whose A records the test sets per query. For tests only. */
export interface NameServer extends AsyncDisposable {
  readonly address: string
  /** Queried names, A queries only. */
  readonly requests: string[]
}

export async function startNameServer(answer: (name: string) => readonly string[] | 'unknown' | 'silence'): Promise<NameServer> {
  const socket = createSocket('udp4')
  const requested: string[] = []
  socket.on('message', (query, from) => {
    const { name, type, end } = readQuestion(query)
    if (type === typeA) requested.push(name)
    const found = type === typeA ? answer(name) : []
    if (found !== 'silence') socket.send(reply(query, end, found), from.port, from.address)
  })
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
  return {
    address: `127.0.0.1:${socket.address().port}`,
    requests: requested,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => socket.close(resolve)),
  }
}

const typeA = 1

function readQuestion(query: Buffer) {
  const labels: string[] = []
  let at = 12
  for (let length = query[at]!; length > 0; length = query[at]!) {
    labels.push(query.toString('ascii', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join('.'), type: query.readUInt16BE(at + 1), end: at + 5 }
}

function reply(query: Buffer, questionEnd: number, found: readonly string[] | 'unknown'): Buffer {
  const addresses = found === 'unknown' ? [] : found
  const header = Buffer.alloc(12)
  query.copy(header, 0, 0, 2)
  header.writeUInt16BE(found === 'unknown' ? 0x8183 : 0x8180, 2)
  header.writeUInt16BE(1, 4)
  header.writeUInt16BE(addresses.length, 6)
  const records = addresses.map((address) =>
    Buffer.from([0xc0, 12, 0, typeA, 0, 1, 0, 0, 0, 0, 0, 4, ...address.split('.').map(Number)]),
  )
  return Buffer.concat([header, query.subarray(12, questionEnd), ...records])
}
