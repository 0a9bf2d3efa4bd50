import type { FastifyRequest } from 'fastify'
import { fail, refuse } from '../platform/failure.ts'

/**
 * Text with a NUL or a lone surrogate is rejected on every route: PostgreSQL does not store a NUL, and a lone surrogate has
 * no UTF-8 encoding.
 */
const isInvalidText = (text: string) => text.includes('\0') || !text.isWellFormed()

/** Fast check: JSON without these escapes cannot contain invalid text. */
export const mayHaveInvalidText = (json: string): boolean => /\\u(0000|d[89a-f])/i.test(json)

export function checkBody(value: unknown, path: readonly string[] = []): void {
  if (typeof value === 'string' && isInvalidText(value)) refuse(path.join('.') || 'body', 'contains an invalid character')
  if (typeof value !== 'object' || value === null) return
  for (const [key, inner] of Object.entries(value)) {
    if (isInvalidText(key)) refuse('body', 'has a field name with an invalid character')
    checkBody(inner, [...path, key])
  }
}

export function checkUrlText({ url, params, query }: FastifyRequest): void {
  // A URL can contain a NUL or a lone surrogate only as a percent escape.
  if (!url.includes('%')) return
  for (const value of Object.values((params ?? {}) as Record<string, string>)) if (isInvalidText(value)) fail('not_found')
  for (const [name, value] of Object.entries((query ?? {}) as Record<string, string | string[]>))
    if ([value].flat().some((text) => typeof text === 'string' && isInvalidText(text)))
      refuse(name, 'contains an invalid character')
}
