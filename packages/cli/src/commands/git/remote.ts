import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)

export interface Remote {
  /** Host name, with the port if the URL has one. */
  host: string
  owner: string
  repo: string
}

/** Parses `https://host/owner/repo.git`, `git@host:owner/repo.git` and `ssh://git@host/owner/repo`; null for any other form. */
export function remoteOf(address: string): Remote | null {
  const url = address.includes('://') ? URL.parse(address.trim()) : null
  const short = /^(?:[\w.-]+@)?([\w.-]+):([^:]+)$/.exec(address.trim())
  const host = url ? (url.protocol === 'ssh:' ? url.hostname : url.host) : short?.[1]
  const path = (url?.pathname ?? short?.[2] ?? '').replace(/^\/+|\/+$/g, '').replace(/\.git$/, '')
  const slash = path.lastIndexOf('/')
  if (!host || slash < 1 || !/^[\w./-]+$/.test(path) || path.split('/').some((step) => /^(\.{0,2}|-.*)$/.test(step))) return null
  return { host, owner: path.slice(0, slash), repo: path.slice(slash + 1) }
}

/** The remote `origin` of the folder; null if it is not a repository or has no such remote. */
export async function originOf(folder: string): Promise<Remote | null> {
  try {
    const { stdout } = await run('git', ['-C', folder, 'remote', 'get-url', 'origin'], { timeout: 5_000 })
    return remoteOf(stdout)
  } catch {
    return null
  }
}
