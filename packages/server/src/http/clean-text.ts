import type { FastifyRequest } from 'fastify'
import { fail, refuse } from '../platform/failure.ts'

/**
 * A NUL, or half of a surrogate pair, is in no text that a user means: PostgreSQL refuses the one, and the other has no
 * bytes. Both are refused here, for every route alike.
 */
const unclean = (text: string) => text.includes('\0') || !text.isWellFormed()

/** Fast check: JSON without these escapes needs no full check. */
export const mayBeUnclean = (json: string): boolean => /\\u(0000|d[89a-f])/i.test(json)

export function checkBody(value: unknown, path: readonly string[] = []): void {
  if (typeof value === 'string' && unclean(value)) refuse(path.join('.') || 'body', 'contains an invalid character')
  if (typeof value !== 'object' || value === null) return
  for (const [key, inner] of Object.entries(value)) {
    if (unclean(key)) refuse('body', 'has a field name with an invalid character')
    checkBody(inner, [...path, key])
  }
}

export function checkAddress({ url, params, query }: FastifyRequest): void {
  // Neither gets into an address but by an escape.
  if (!url.includes('%')) return
  for (const value of Object.values((params ?? {}) as Record<string, string>)) if (unclean(value)) fail('not_found')
  for (const [name, value] of Object.entries((query ?? {}) as Record<string, string | string[]>))
    if ([value].flat().some((text) => typeof text === 'string' && unclean(text))) refuse(name, 'contains an invalid character')
}
