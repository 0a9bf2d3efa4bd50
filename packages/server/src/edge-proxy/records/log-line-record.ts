import type { LogOwner } from '../protocol/nginx-files.ts'
import type { AccessLine } from './access-log.ts'
import { type RecordFields, recordTail } from './request-records.ts'

export interface LoggedRequest {
  record: RecordFields
  projectId: string
  deploymentId: string | null
  environment: string | null
}

const plainName = /^[0-9a-z._-]{1,253}$/
const plainId = /^[\d.-]{1,64}$/
const plainAddress = /^[0-9a-fA-F.:]{2,45}$/
const plainMethod = /^[A-Z_-]{1,32}$/

/** A request that nginx served itself, from a line of its access log. Undefined if the line is not about a project. */
export function loggedRequest(line: AccessLine): LoggedRequest | undefined {
  const owner = readOwner(line.owner)
  const { id = '', ip = '', method = '', host = '' } = line
  if (!owner || !plainId.test(id) || !plainAddress.test(ip) || !plainMethod.test(method) || !plainName.test(host))
    return undefined
  const [projectId, deploymentId, environment, service] = owner
  if (projectId === null) return undefined
  const durationMs = numberOf(line.seconds) * 1000
  return {
    projectId,
    deploymentId,
    environment,
    record: {
      ...{ id, ip, method, host, durationMs },
      timeMs: numberOf(line.at) * 1000 - durationMs,
      path: line.path ?? '',
      status: numberOf(line.status),
      // What a client announces may be more than it sends.
      bytesIn: Math.min(numberOf(line.in), numberOf(line.length)),
      bytesOut: numberOf(line.out),
      userAgent: line.agent ?? '',
      tail: recordTail({ projectId, deploymentId, environment, service }),
    },
  }
}

function readOwner(text = ''): LogOwner | undefined {
  try {
    const owner: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'))
    return Array.isArray(owner) && owner.length === 4 ? (owner as LogOwner) : undefined
  } catch {
    return undefined
  }
}

const numberOf = (text = ''): number => {
  const value = Number(text)
  return Number.isFinite(value) && value >= 0 ? value : 0
}
