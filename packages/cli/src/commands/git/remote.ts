import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)

export interface Remote {
  /** With the port, where it has one. */
  host: string
  owner: string
  repo: string
}

/** `https://host/owner/repo.git`, `git@host:owner/repo.git` and `ssh://git@host/owner/repo`; null for what names no repository so. */
export function remoteOf(address: string): Remote | null {
  const url = address.includes('://') ? URL.parse(address.trim()) : null
  const short = /^(?:[\w.-]+@)?([\w.-]+):([^:]+)$/.exec(address.trim())
  const host = url ? (url.protocol === 'ssh:' ? url.hostname : url.host) : short?.[1]
  const path = (url?.pathname ?? short?.[2] ?? '').replace(/^\/+|\/+$/g, '').replace(/\.git$/, '')
  const cut = path.lastIndexOf('/')
  if (!host || cut < 1 || !/^[\w./-]+$/.test(path) || path.split('/').some((step) => /^(\.{0,2}|-.*)$/.test(step))) return null
  return { host, owner: path.slice(0, cut), repo: path.slice(cut + 1) }
}

/** Where `origin` of the folder is; null where it is no repository, or has none. */
export async function originOf(folder: string): Promise<Remote | null> {
  try {
    const { stdout } = await run('git', ['-C', folder, 'remote', 'get-url', 'origin'], { timeout: 5_000 })
    return remoteOf(stdout)
  } catch {
    return null
  }
}
