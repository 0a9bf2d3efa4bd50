import { readFile, rename, writeFile } from 'node:fs/promises'
import type { EdgeAddress } from '../../../edge-proxy/protocol/edge-listening.ts'
import type { NginxConfig } from './nginx-config.ts'

interface KnownUpstream extends EdgeAddress {
  projectId: string
  /** Null while it is in the configuration. */
  removedAt: number | null
}

/** Requests to a removed upstream end within this time: nginx ends its old workers earlier. */
const keptMs = 3_600_000

/** The upstreams of this configuration and of recent ones, stored for the next control plane, which drains them. */
export class KnownUpstreams {
  readonly #path: string
  #upstreams = new Map<string, KnownUpstream>()

  constructor(path: string) {
    this.#path = path
  }

  async load(): Promise<void> {
    const text = await readFile(this.#path, 'utf8').catch(() => '{}')
    this.#upstreams = new Map(Object.entries(JSON.parse(text) as Record<string, KnownUpstream>))
  }

  /** Adds those of a configuration; the previous ones are kept for a while. */
  async replace({ upstreams, projects }: Pick<NginxConfig, 'upstreams' | 'projects'>, now: number): Promise<void> {
    for (const [id, upstream] of this.#upstreams) {
      if (upstreams.has(id)) continue
      upstream.removedAt ??= now
      if (now - upstream.removedAt > keptMs) this.#upstreams.delete(id)
    }
    for (const [id, { host, port }] of upstreams)
      this.#upstreams.set(id, { host, port, projectId: projects.get(id) ?? '', removedAt: null })
    await writeFile(`${this.#path}.new`, JSON.stringify(Object.fromEntries(this.#upstreams)), { mode: 0o600 })
    await rename(`${this.#path}.new`, this.#path)
  }

  get addresses(): ReadonlyMap<string, EdgeAddress> {
    return this.#upstreams
  }

  get(id: string): KnownUpstream | undefined {
    return this.#upstreams.get(id)
  }
}
