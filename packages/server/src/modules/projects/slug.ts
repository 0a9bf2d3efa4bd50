import { randomBytes } from 'node:crypto'

const maxBaseLength = 50

/** The slug of a name; null when no character of it can be used. */
export function slugFrom(name: string): string | null {
  const ascii = name.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()
  const slug = ascii
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, maxBaseLength)
    .replace(/^-+|-+$/g, '')
  return slug || null
}

/** Candidate slugs, the most natural first. */
export const candidateSlugs = (base: string): string[] => [base, ...[2, 3, 4, 5, 6, 7, 8, 9].map((number) => `${base}-${number}`)]

export const randomSlug = (base: string): string => `${base}-${randomBytes(4).toString('hex')}`
