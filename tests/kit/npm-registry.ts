import { createHash } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import { pack } from 'tar-stream'
import { serve } from './http-server.ts'

/** An npm registry on loopback that serves what a test publishes. */
export interface NpmRegistry extends AsyncDisposable {
  url: string
  /** Requested paths, in order. */
  readonly requested: string[]
  publish(name: string, version: string, contents: Published): Promise<void>
  /** Stops responding: later requests are accepted and get no response. */
  hang(): void
}

export interface Published {
  /** Path in the package → its text. */
  files: Record<string, string>
  bin?: Record<string, string>
  /** Replaces the correct value in the metadata. */
  integrity?: string
}

interface Version {
  manifest: object
  tarball: Buffer
}

export async function startNpmRegistry(): Promise<NpmRegistry> {
  const packages = new Map<string, Map<string, Version>>()
  const requested: string[] = []
  let hangs = false
  const server = await serve((request, response) => {
    const path = decodeURIComponent(request.url ?? '')
    requested.push(path)
    if (!hangs) answer(path, packages, response)
  })
  const { url } = server
  return {
    url,
    requested,
    hang() {
      hangs = true
    },
    async publish(name, version, { files, bin = {}, integrity }) {
      const described = { name, version, bin }
      const tarball = await tarballOf({ ...files, 'package.json': JSON.stringify(described) })
      const sum = integrity ?? `sha512-${createHash('sha512').update(tarball).digest('base64')}`
      const dist = { tarball: `${url}/${name}/-/${version}.tgz`, integrity: sum }
      const versions = packages.get(name) ?? new Map<string, Version>()
      packages.set(name, versions.set(version, { manifest: { ...described, dist }, tarball }))
    },
    [Symbol.asyncDispose]: () => server.close(),
  }
}

function answer(path: string, packages: ReadonlyMap<string, Map<string, Version>>, response: ServerResponse): void {
  const [name = '', file] = path.slice(1).split('/-/')
  const versions = packages.get(name)
  const tarball = versions?.get(file?.replace(/\.tgz$/, '') ?? '')?.tarball
  if (!versions || (file && !tarball)) return void response.writeHead(404, { 'content-type': 'application/json' }).end('{}')
  if (tarball) return void response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(tarball)
  const latest = [...versions.keys()].at(-1)
  const body = {
    name,
    'dist-tags': { latest },
    versions: Object.fromEntries([...versions].map(([of, { manifest }]) => [of, manifest])),
  }
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

async function tarballOf(files: Record<string, string>): Promise<Buffer> {
  const archive = pack()
  for (const [name, text] of Object.entries(files)) archive.entry({ name: `package/${name}`, mode: 0o644 }, text)
  archive.finalize()
  const chunks: Buffer[] = []
  for await (const chunk of archive) chunks.push(chunk as Buffer)
  return gzipSync(Buffer.concat(chunks))
}
