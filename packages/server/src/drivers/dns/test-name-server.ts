import { createSocket } from 'node:dgram'
import { once } from 'node:events'

/** Test support: a name server on loopback with TXT records. */
export interface TestNameServer {
  address: string
  /** Records by name; each is a list of strings. */
  records: Map<string, string[][]>
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

function answerTo(question: Buffer, name: string, { records, mood }: TestNameServer): Buffer {
  const known = mood === 'answers' ? records.get(name) : undefined
  const requested = question.subarray(headerBytes, headerBytes + name.length + 2 + 4)
  const header = Buffer.alloc(headerBytes)
  question.copy(header, 0, 0, 2)
  // Flags: a response with recursion available; response code: no error, server failure, or no such name.
  header.writeUInt16BE(0x8180 | (mood === 'fails' ? 2 : known ? 0 : 3), 2)
  header.writeUInt16BE(1, 4)
  header.writeUInt16BE(known?.length ?? 0, 6)
  return Buffer.concat([header, requested, ...(known ?? []).map(recordOf)])
}

function recordOf(pieces: string[]): Buffer {
  const data = Buffer.concat(pieces.map((piece) => Buffer.concat([Buffer.from([piece.length]), Buffer.from(piece)])))
  const head = Buffer.alloc(12)
  head.writeUInt16BE(0xc000 | headerBytes, 0)
  head.writeUInt16BE(16, 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt16BE(data.length, 10)
  return Buffer.concat([head, data])
}
