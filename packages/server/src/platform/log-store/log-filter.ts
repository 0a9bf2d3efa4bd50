import type { AnyEntry } from './log-entry.ts'
import { textSearch } from './text-search.ts'

export interface LogFilter {
  /** Part of the message, or of any text of a request; case-insensitive. */
  q?: string
  environment?: string
  service?: string
  deployment?: string
  /** Run of a scheduled task. */
  run?: string
  /** `404`, `5xx`, or a comma-separated list. */
  status?: string
  /** HTTP method, or a comma-separated list. */
  method?: string
  /** Path prefix. */
  path?: string
}

/** A filter that searches the bytes first: most blocks and lines do not contain the text and are never decoded or parsed. */
export interface CompiledFilter {
  readonly deployment: string | undefined
  /** The lines of a block that may match, in file order. */
  linesIn(block: Buffer): string[]
  matches(entry: AnyEntry): boolean
}

export function compileFilter(filter: LogFilter = {}): CompiledFilter {
  const { q, environment, service, deployment, run, status, method, path } = filter
  const searchText = q?.toLowerCase()
  const search = textSearch(textsOf(filter), q ? escaped(q) : undefined)
  const methods = method?.toUpperCase().split(',')
  const statuses = status?.toLowerCase().split(',')
  return {
    deployment,
    linesIn: (block) => (search ? search(block) : block.toString('utf8').split('\n')),
    matches: (entry) => {
      if (deployment && !('deploymentId' in entry && entry.deploymentId === deployment)) return false
      if (run && !('runId' in entry && entry.runId === run)) return false
      if (environment && !('environment' in entry && entry.environment === environment)) return false
      if (service && !('service' in entry && entry.service === service)) return false
      if (statuses && !('status' in entry && statuses.some((one) => matchesStatus(entry.status, one)))) return false
      if (methods && !('method' in entry && methods.includes(entry.method.toUpperCase()))) return false
      if (path && !('path' in entry && entry.path.startsWith(path))) return false
      return !searchText || searchableTexts(entry).some((text) => text.toLowerCase().includes(searchText))
    },
  }
}

/** Texts that a matching line contains. A filter with several values has no single text; `matches` checks it. */
function textsOf({ environment, service, deployment, run, status, path }: LogFilter): string[] {
  const texts: string[] = []
  if (deployment) texts.push(`"deploymentId":${JSON.stringify(deployment)}`)
  if (run) texts.push(`"runId":${JSON.stringify(run)}`)
  if (environment) texts.push(`"environment":${JSON.stringify(environment)}`)
  if (service) texts.push(`"service":${JSON.stringify(service)}`)
  if (path) texts.push(`"path":"${escaped(path)}`)
  if (status && !status.includes(',')) texts.push(`"status":${status.replace(/xx$/i, '')}`)
  return texts
}

function escaped(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}

function matchesStatus(status: number, pattern: string): boolean {
  return /^\dxx$/.test(pattern) ? Math.floor(status / 100) === Number(pattern[0]) : status === Number(pattern)
}

function searchableTexts(entry: AnyEntry): string[] {
  if ('message' in entry) return [entry.message]
  const { ip, method, host, path, status, userAgent } = entry
  return [method, host, path, String(status), ip, userAgent ?? '']
}
