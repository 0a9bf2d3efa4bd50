import { createHmac } from 'node:crypto'
import type { Secret } from '../../platform/secrets/secret.ts'
import { constantTimeEqual } from '../../platform/secrets/token.ts'
import { isBranchName } from '../git/commit-id.ts'
import { type DeliveryHeaders, headerOf } from './delivery.ts'
import type { RepositoryName } from './repository-name.ts'

/** Reads untrusted JSON: a value of another type is null, and nothing throws. */
export class Fields {
  readonly #value: Record<string, unknown>

  constructor(value: unknown) {
    this.#value = typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  }

  static of(rawBody: Buffer): Fields | null {
    try {
      const value: unknown = JSON.parse(rawBody.toString('utf8'))
      return typeof value === 'object' && value !== null && !Array.isArray(value) ? new Fields(value) : null
    } catch {
      return null
    }
  }

  in(name: string): Fields {
    return new Fields(this.#own(name))
  }

  text(name: string): string | null {
    const value = this.#own(name)
    return typeof value === 'string' ? value : null
  }

  integer(name: string): number | null {
    const value = this.#own(name)
    return Number.isSafeInteger(value) ? (value as number) : null
  }

  isTrue(name: string): boolean {
    return this.#own(name) === true
  }

  value(name: string): unknown {
    return this.#own(name)
  }

  has(name: string): boolean {
    const value = this.#own(name)
    return value !== undefined && value !== null
  }

  #own(name: string): unknown {
    return Object.hasOwn(this.#value, name) ? this.#value[name] : undefined
  }
}

/** The JSON of a delivery; webhooks set to `application/x-www-form-urlencoded` send it as the field `payload`. */
export function payloadOf(headers: DeliveryHeaders, rawBody: Buffer): Fields | null {
  const isForm = /^application\/x-www-form-urlencoded\s*(;|$)/i.test(headerOf(headers, 'content-type') ?? '')
  if (!isForm) return Fields.of(rawBody)
  const payload = new URLSearchParams(rawBody.toString('utf8')).get('payload')
  return payload === null ? null : Fields.of(Buffer.from(payload))
}

/** Parses `owner/repo`, where the owner may be a path of groups. The input is untrusted: a name that no host allows is null. */
export function parseRepositoryName(fullName: string | null): RepositoryName | null {
  const slash = fullName?.lastIndexOf('/') ?? -1
  if (!fullName || slash < 1 || fullName.length > 300) return null
  if (!fullName.split('/').every((part) => /^(?!\.{1,2}$)[\w.-]+$/.test(part))) return null
  return { owner: fullName.slice(0, slash), repo: fullName.slice(slash + 1) }
}

export const branchOf = (ref: string | null): string | null =>
  ref?.startsWith('refs/heads/') ? validBranch(ref.slice('refs/heads/'.length)) : null

export const validBranch = (name: string | null): string | null => (name !== null && isBranchName(name) ? name : null)

/** Truncates a user's text, and removes characters that a database cannot store. */
export const cleanText = (text: string | null, maxLength: number): string | null =>
  text === null
    ? null
    : text
        .slice(0, maxLength)
        .replace(/[\0-\x08\x0b-\x1f\x7f]/g, '')
        .toWellFormed()

/** Git writes a missing commit as zeros; a commit id is SHA-1 or SHA-256. */
export const validCommit = (text: string | null): string | null =>
  text && /^([0-9a-f]{40}|[0-9a-f]{64})$/.test(text) && !/^0+$/.test(text) ? text : null

export const isHmacOf = (rawBody: Buffer, secret: Secret, hex: string | null): boolean =>
  hex !== null && constantTimeEqual(createHmac('sha256', secret.reveal()).update(rawBody).digest('hex'), hex.toLowerCase())
