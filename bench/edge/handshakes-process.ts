// Opens TLS connections for a time, sends one request on each, and prints how many succeeded and how many resumed a session.
import tls from 'node:tls'

const [port, hostname, seconds, parallel, mode] = process.argv.slice(2) as [string, string, string, string, 'full' | 'resumed']
const endAt = performance.now() + Number(seconds) * 1000
const counts = { requests: 0, resumed: 0, errors: 0 }
const request = `GET / HTTP/1.1\r\nHost: ${hostname}\r\nConnection: close\r\n\r\n`
const secureContext = tls.createSecureContext()

await Promise.all(Array.from({ length: Number(parallel) }, connectRepeatedly))
console.log(JSON.stringify(counts))

async function connectRepeatedly(): Promise<void> {
  let session: Buffer | undefined
  while (performance.now() < endAt) {
    const result = await connectOnce(session)
    // A server may send no new ticket with a resumed session: the last one is used again.
    if (mode === 'resumed') session = result ?? session
  }
}

/** Resolves with the session that the next connection can resume. */
function connectOnce(session: Buffer | undefined): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    let next: Buffer | undefined
    let text = ''
    const target = { host: '127.0.0.1', port: Number(port), servername: hostname, secureContext, rejectUnauthorized: false }
    const socket = tls.connect({ ...target, ...(session ? { session } : {}) }, () => {
      if (socket.isSessionReused()) counts.resumed += 1
      socket.write(request)
    })
    socket.on('session', (ticket: Buffer) => {
      next = ticket
    })
    socket.on('data', (bytes: Buffer) => {
      text += bytes.toString('latin1')
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      if (text.startsWith('HTTP/1.1 200')) counts.requests += 1
      else counts.errors += 1
      resolve(next)
    })
  })
}
