import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { isIPv4, isIPv6 } from 'node:net'

/** Test support: a name server on loopback with TXT, A and AAAA records. */
export interface TestNameServer {
  address: string
  /** Records by name; each is a list of strings. */
  records: Map<string, string[][]>
  /** Addresses by name, IPv4 and IPv6. */
  addresses: Map<string, string[]>
  /** Whether it answers every query, fails it, or stays silent. */
  mood: 'answers' | 'fails' | 'silent'
  questions: string[]
  close(): Promise<void>
}

export async function startTestNameServer(): Promise<TestNameServer> {
  const socket = createSocket('udp4').bind(0, '127.0.0.1')
  await once(socket, 'listening')
  const server: TestNameServer = {
    address: `127.0.0.1:${socket.address().port}`,
    records: new Map(),
    addresses: new Map(),
    mood: 'answers',
    questions: [],
    close: () => new Promise((resolve) => socket.close(resolve)),
  }
  socket.on('message', (question, { port, address }) => {
    const name = nameIn(question)
    server.questions.push(name)
    if (server.mood !== 'silent') socket.send(answerTo(question, name, server), port, address)
  })
  return server
}

const headerBytes = 12

function nameIn(question: Buffer): string {
  const labels: string[] = []
  for (let at = headerBytes; question[at]; at += (question[at] as number) + 1)
    labels.push(question.toString('latin1', at + 1, at + 1 + (question[at] as number)))
  return labels.join('.').toLowerCase()
}

const recordTypes = { a: 1, txt: 16, aaaa: 28 }

function answerTo(question: Buffer, name: string, server: TestNameServer): Buffer {
  const typeAt = headerBytes + name.length + 2
  const type = question.readUInt16BE(typeAt)
  const isKnown = server.mood === 'answers' && (server.records.has(name) || server.addresses.has(name))
  const answers = isKnown ? dataOf(type, name, server).map((data) => recordOf(type, data)) : []
  const header = Buffer.alloc(headerBytes)
  question.copy(header, 0, 0, 2)
  // Flags: a response with recursion available; response code: no error, server failure, or no such name.
  header.writeUInt16BE(0x8180 | (server.mood === 'fails' ? 2 : isKnown ? 0 : 3), 2)
  header.writeUInt16BE(1, 4)
  header.writeUInt16BE(answers.length, 6)
  return Buffer.concat([header, question.subarray(headerBytes, typeAt + 4), ...answers])
}

function dataOf(type: number, name: string, { records, addresses }: TestNameServer): Buffer[] {
  const known = addresses.get(name) ?? []
  if (type === recordTypes.a) return known.filter(isIPv4).map((address) => Buffer.from(address.split('.').map(Number)))
  if (type === recordTypes.aaaa) return known.filter(isIPv6).map(bytesOfIPv6)
  return (records.get(name) ?? []).map((pieces) =>
    Buffer.concat(pieces.map((piece) => Buffer.concat([Buffer.from([piece.length]), Buffer.from(piece)]))),
  )
}

/** `2001:db8::7`: the two colons stand for as many zeros as are missing. */
function bytesOfIPv6(address: string): Buffer {
  const [start = [], end = []] = address.split('::').map((half) => half.split(':').filter(Boolean))
  const groups = [...start, ...Array<string>(8 - start.length - end.length).fill('0'), ...end]
  return Buffer.from(groups.map((group) => group.padStart(4, '0')).join(''), 'hex')
}

function recordOf(type: number, data: Buffer): Buffer {
  const head = Buffer.alloc(12)
  head.writeUInt16BE(0xc000 | headerBytes, 0)
  head.writeUInt16BE(type, 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt16BE(data.length, 10)
  return Buffer.concat([head, data])
}
