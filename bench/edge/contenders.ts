import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import type { EmbeddedEdge as EdgeClass } from '../../packages/server/src/drivers/edge/embedded-edge.ts'
import { freePorts } from '../../tests/kit/free-port.ts'
import { cores, pin } from '../edge-load.ts'
import { originServer, startNginx } from '../kit/nginx.ts'

/** A proxy in front of the shared origin. */
export interface Contender {
  readonly name: string
  /** The process that serves. */
  readonly pid: number
  readonly port: number
  readonly tlsPort: number
}

export interface EdgeContender extends Contender {
  readonly edge: EdgeClass
  /** Request records received from the edge, and records that it dropped. */
  readonly records: { received: number; dropped: number }
}

interface CertificateFiles {
  cert: string
  key: string
}

export const hostname = 'bench.test'
/** The benchmarks open more connections from one address than the edge admits by default. */
export const wideLimits = { connections: 65_536, clientShare: 1, projectShare: 1 }

/** A self-signed P-256 pair, the kind that the certificate authority issues to Berth. */
export async function makeCertificate(folder: string): Promise<CertificateFiles> {
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const names = ['-subj', `/CN=${hostname}`, '-addext', `subjectAltName=DNS:${hostname},IP:127.0.0.1`]
  const pair = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', key, '-out', cert]
  await promisify(execFile)('openssl', ['req', '-x509', '-days', '2', ...pair, ...names])
  return { cert, key }
}

/** An origin with a reply of this size, on the core beside the measured one. */
export async function startOrigin(folder: string, bytes: number) {
  const [port] = await freePorts(1)
  const servers = originServer(port!, bytes)
  const daemon = await startNginx({ name: 'origin', port: port!, servers, core: cores?.around, folder })
  return { port: port!, pid: daemon.pid, [Symbol.asyncDispose]: () => daemon[Symbol.asyncDispose]() }
}

/** nginx with one worker, http and https. */
export async function startReference(folder: string, originPort: number, pair: CertificateFiles) {
  const [port, tlsPort] = await freePorts(2)
  const forward = (protocol: string) => `location / { proxy_pass http://u; proxy_http_version 1.1; proxy_set_header Connection "";
    proxy_set_header Host $host; proxy_set_header X-Forwarded-For $remote_addr; proxy_set_header X-Forwarded-Proto ${protocol};
    proxy_set_header X-Forwarded-Host $host; proxy_set_header X-Request-Id $request_id; }`
  const servers = `upstream u { server 127.0.0.1:${originPort}; keepalive 128; keepalive_requests 1000000000; }
    server { listen 127.0.0.1:${port} backlog=4096; ${forward('http')} }
    server { listen 127.0.0.1:${tlsPort} ssl backlog=4096; ssl_certificate ${pair.cert}; ssl_certificate_key ${pair.key};
      ssl_protocols TLSv1.2 TLSv1.3; ${forward('https')} }`
  const daemon = await startNginx({ name: 'reference', port: port!, servers, core: cores?.measured, folder })
  const pid = await onlyChildOf(daemon.pid)
  const contender: Contender = { name: 'nginx', pid, port: port!, tlsPort: tlsPort! }
  return { ...contender, masterPid: daemon.pid, [Symbol.asyncDispose]: () => daemon[Symbol.asyncDispose]() }
}

interface EdgeOptions {
  name: string
  folder: string
  originPort: number
  pair: CertificateFiles
  /** A built tree. */
  tree: string
  entry?: string
  flags?: string[]
  limits?: object
}

/** The edge of a built tree, with one worker, on the measured core. */
export async function startEdgeOf(options: EdgeOptions): Promise<EdgeContender & AsyncDisposable> {
  const { name, tree, originPort, pair } = options
  const server = join(tree, 'packages/server')
  const module = await import(pathToFileURL(join(server, 'src/drivers/edge/embedded-edge.ts')).href)
  const [port, tlsPort] = await freePorts(2)
  const folder = join(options.folder, name)
  const edge: EdgeClass = new module.EmbeddedEdge({
    folder,
    http: { host: '127.0.0.1', port },
    https: { host: '127.0.0.1', port: tlsPort },
    buildId: 'bench',
    entry: options.entry ?? join(server, 'dist/edge.js'),
    ...(options.flags ? { flags: options.flags } : {}),
    orphanExitMs: 10_000,
  })
  const records = { received: 0, dropped: 0 }
  edge.onRequests((batch, lost) => {
    records.received += batch.length
    records.dropped += lost
  })
  await edge.start()
  const pid = Number(await readFile(join(folder, 'edge.lock'), 'utf8'))
  await pin(pid, cores?.measured)
  const upstreams = [{ id: 'u', host: '127.0.0.1', port: originPort }]
  const target = { kind: 'upstreams' as const, projectId: 'p', deploymentId: 'd', upstreams }
  const host = { environment: 'production' as const, target }
  const certificate = { cert: await readFile(pair.cert, 'utf8'), key: await readFile(pair.key, 'utf8') }
  await edge.apply({
    version: 1,
    hosts: { '127.0.0.1': host, [hostname]: host },
    certificates: { '127.0.0.1': certificate, [hostname]: certificate },
    ...(options.limits ? { limits: options.limits } : {}),
  })
  const end = () => edge.stop({ keepServing: false, graceMs: 500 })
  return { name, pid, port: port!, tlsPort: tlsPort!, edge, records, [Symbol.asyncDispose]: end }
}

/** Returns the pid of nginx's worker process. */
async function onlyChildOf(master: number): Promise<number> {
  return Number((await readFile(`/proc/${master}/task/${master}/children`, 'utf8')).trim().split(' ')[0])
}
