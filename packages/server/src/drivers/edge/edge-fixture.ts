import { mkdtemp, rm } from 'node:fs/promises'
import http from 'node:http'
import net from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { EdgeHost, EdgeTable, EdgeUpstream } from '../../edge-proxy/protocol/edge-table.ts'
import type { RequestRecord } from '../../edge-proxy/protocol/request-record.ts'
import { createRunCommand } from '../shell/run-command.ts'
import type { EdgeApplied, EdgeDriver } from './edge.ts'
import { EmbeddedEdge, type EmbeddedEdgeOptions } from './embedded-edge.ts'
import { NginxEdge, type NginxEdgeOptions } from './nginx/nginx-edge.ts'

/** Test support: a real edge process with its own folder and port. It ends by itself when the test run dies. */
export class TestEdge<Driver extends EdgeDriver = EmbeddedEdge> {
  readonly driver: Driver
  readonly records: RequestRecord[] = []
  readonly woken: string[] = []
  /** Hosts that were reported as used without a certificate. */
  readonly wanted: string[] = []
  readonly folder: string
  port = 0
  tlsPort = 0
  #hosts: Record<string, EdgeHost> = {}
  #rest: Partial<EdgeTable> = {}
  #version = 0

  constructor(folder: string, driver: Driver) {
    this.folder = folder
    this.driver = driver
    this.driver.onRequests((batch) => this.records.push(...batch))
    this.driver.onWake((projectId) => this.woken.push(projectId))
    this.driver.onCertificateWanted((hostname) => this.wanted.push(hostname))
  }

  /** Adds hosts to the table, or changes them. */
  async route(hosts: Record<string, EdgeHost>, rest: Partial<EdgeTable> = {}): Promise<EdgeApplied> {
    this.#hosts = { ...this.#hosts, ...hosts }
    this.#rest = { ...this.#rest, ...rest }
    this.#version += 1
    return this.driver.apply({ version: this.#version, hosts: this.#hosts, ...this.#rest })
  }

  request(host: string, path = '/', options: RequestOptions = {}): Promise<Answer> {
    return send(this.port, host, path, options)
  }

  /** The record of the request to that path, once it has arrived. */
  async record(path: string): Promise<RequestRecord> {
    return eventually(() => this.records.find((record) => record.path === path))
  }

  async end(): Promise<void> {
    await this.driver.stop({ keepServing: false, graceMs: 500 })
    await rm(this.folder, { recursive: true, force: true })
  }
}

export const testSettings = (folder: string): EmbeddedEdgeOptions => ({
  folder: join(folder, 'edge'),
  http: { host: '127.0.0.1', port: 0 },
  buildId: 'test',
  orphanExitMs: 20_000,
})

export async function startEdge(options: Partial<EmbeddedEdgeOptions> = {}): Promise<TestEdge> {
  const folder = await mkdtemp(join(tmpdir(), 'berth-edge-'))
  return start(new TestEdge(folder, new EmbeddedEdge({ ...testSettings(folder), ...options })))
}

/** The same with nginx in front; `nginx` is the program. */
export async function startNginxEdge(nginx: string, options: Partial<EmbeddedEdgeOptions> = {}): Promise<TestEdge<NginxEdge>> {
  const folder = await mkdtemp(join(tmpdir(), 'berth-nginx-'))
  return start(new TestEdge(folder, nginxDriver(folder, nginx, options)))
}

export const nginxDriver = (folder: string, nginx: string, options: Partial<NginxEdgeOptions> = {}): NginxEdge =>
  new NginxEdge({
    ...testSettings(folder),
    nginxFolder: join(folder, 'nginx'),
    nginx,
    run: createRunCommand(process.env),
    ...options,
  })

async function start<Driver extends EdgeDriver>(edge: TestEdge<Driver>): Promise<TestEdge<Driver>> {
  const listening = await edge.driver.start()
  edge.port = listening.http.port
  edge.tlsPort = listening.https?.port ?? 0
  return edge
}

/** A target with these upstreams, of a project named after the first. */
export const serve = (...upstreams: TestUpstream[]): EdgeHost => ({
  target: {
    kind: 'upstreams',
    projectId: `project-${upstreams[0]!.id}`,
    deploymentId: `deployment-${upstreams[0]!.id}`,
    upstreams: upstreams.map(({ id, host, port, weight }): EdgeUpstream => ({ id, host, port, weight })),
  },
})

export interface TestUpstream extends EdgeUpstream {
  close(): Promise<void>
}

let lastUpstream = 0

/** Answers with a description of the request. */
export const startEchoUpstream = (): Promise<TestUpstream> =>
  startUpstream((request, response) => {
    let bytes = 0
    request.on('data', (part: Buffer) => {
      bytes += part.length
    })
    response.setHeader('x-app', 'yes')
    request.on('end', () =>
      response.end(JSON.stringify({ method: request.method, url: request.url, headers: request.headers, bytes })),
    )
  })

/** A real HTTP server on its own port. */
export async function startUpstream(
  handler: http.RequestListener,
  adjust?: (server: http.Server) => void,
): Promise<TestUpstream> {
  const server = http.createServer(handler)
  adjust?.(server)
  return listening(server)
}

/** A server that can send arbitrary bytes. */
export async function startRawUpstream(onConnection: (socket: net.Socket) => void): Promise<TestUpstream> {
  return listening(
    net.createServer((socket) => {
      socket.on('error', () => {})
      onConnection(socket)
    }),
  )
}

async function listening(server: net.Server): Promise<TestUpstream> {
  const sockets = new Set<net.Socket>()
  server.on('connection', (socket: net.Socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  lastUpstream += 1
  return {
    id: `u${lastUpstream}`,
    host: '127.0.0.1',
    port: (server.address() as net.AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}

export interface RequestOptions {
  method?: string
  headers?: Record<string, string>
  body?: string | Buffer
  agent?: http.Agent
}

export interface Answer {
  status: number
  headers: http.IncomingHttpHeaders
  body: string
  bytes: Buffer
}

export function send(
  port: number,
  host: string,
  path: string,
  { method = 'GET', headers = {}, body, agent }: RequestOptions,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = http.request(
      { port, host: '127.0.0.1', path, method, headers: { host, ...headers }, agent: agent ?? false },
      (response) => {
        const parts: Buffer[] = []
        response.on('data', (part: Buffer) => parts.push(part))
        response.on('error', reject)
        response.on('end', () => {
          const bytes = Buffer.concat(parts)
          resolve({ status: response.statusCode!, headers: response.headers, body: bytes.toString(), bytes })
        })
      },
    )
    request.on('error', reject)
    request.end(body)
  })
}

/** Sends raw bytes; resolves with everything received when the connection ended, or after `forMs`. */
export function rawRequest(port: number, text: string | Buffer, forMs = 5_000): Promise<string> {
  return new Promise((resolve) => {
    const parts: Buffer[] = []
    const socket = net.connect(port, '127.0.0.1', () =>
      socket.write(typeof text === 'string' ? Buffer.from(text, 'latin1') : text),
    )
    const timer = setTimeout(() => socket.destroy(), forMs)
    socket.on('data', (part) => parts.push(part))
    socket.on('error', () => {})
    socket.on('end', () => socket.end())
    socket.on('close', () => {
      clearTimeout(timer)
      resolve(Buffer.concat(parts).toString('latin1'))
    })
  })
}

/** Waits for a value that is not undefined or false. */
export async function eventually<Value>(
  check: () => Value | undefined | false | Promise<Value | undefined | false>,
  withinMs = 90_000,
): Promise<Value> {
  const giveUpAt = Date.now() + withinMs
  for (;;) {
    const value = await check()
    if (value !== undefined && value !== false) return value
    if (Date.now() > giveUpAt) throw new Error('timed out while waiting for the condition')
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
