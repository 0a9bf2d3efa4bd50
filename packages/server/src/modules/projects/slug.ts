import { randomBytes } from 'node:crypto'

const longestBase = 50

/** What a name becomes in a host name; null when nothing of it can be used. */
export function slugFrom(name: string): string | null {
  const plain = name.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()
  const slug = plain
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, longestBase)
    .replace(/^-+|-+$/g, '')
  return slug || null
}

/** The first few are the ones a person would choose. */
export const likelySlugs = (base: string): string[] => [base, ...[2, 3, 4, 5, 6, 7, 8, 9].map((number) => `${base}-${number}`)]

export const chanceSlug = (base: string): string => `${base}-${randomBytes(4).toString('hex')}`
