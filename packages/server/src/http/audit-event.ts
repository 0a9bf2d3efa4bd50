import type { AnyRoute } from '@berth/contract'
import type { FastifyRequest } from 'fastify'
import { bareAddress, plainAddress } from '../platform/address-set.ts'
import { addressOf } from './client-address.ts'
import { redact } from './redact.ts'

/** A write that happened, for the audit log. */
export interface AuditEvent {
  action: string
  organizationId: string | null
  userId: string | null
  tokenId: string | null
  ip: string
  requestId: string
  objectKind: string | null
  objectId: string | null
  changes: unknown
}

export function auditEventOf(row: AnyRoute, request: FastifyRequest): AuditEvent {
  const { caller, object, record } = request.state
  const { made, ...details } = record?.details ?? {}
  const params = request.params as Record<string, string>
  const createdId = made && record?.createdId(made)
  return {
    action: row.at,
    organizationId: caller?.organizationId ?? null,
    userId: caller?.userId ?? null,
    tokenId: caller?.tokenId ?? null,
    ip: plainAddress(bareAddress(addressOf(request))),
    requestId: request.id,
    objectKind: row.on ?? null,
    objectId: Object.values(params).at(-1) ?? (object as { id?: string } | undefined)?.id ?? null,
    changes: row.body ? redact(row.body, request.body) : {},
    ...(createdId ? { objectId: createdId } : {}),
    ...details,
  }
}
