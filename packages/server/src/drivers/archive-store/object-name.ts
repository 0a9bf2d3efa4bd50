import { StoreFailure } from './store-failure.ts'

const part = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}$/
const longestName = 900

/** The parts of a name of our own. Whatever else is a fault of ours, and goes nowhere. */
export function partsOf(name: string): string[] {
  const parts = name.split('/')
  if (name.length > longestName || !parts.every((one) => part.test(one)))
    throw new StoreFailure('other', `${JSON.stringify(name.slice(0, 100))} is not a name of an archive`)
  return parts
}

/** The parts of a prefix: none for all names. */
export function partsOfPrefix(prefix: string): string[] {
  if (prefix === '') return []
  if (!prefix.endsWith('/')) throw new StoreFailure('other', `${JSON.stringify(prefix.slice(0, 100))} does not end with a slash`)
  return partsOf(prefix.slice(0, -1))
}

/** What stands before every name in a bucket, of a prefix that a person has written. */
export const aboveOf = (prefix = ''): string => {
  const parts = prefix.split('/').filter((part) => part !== '')
  return parts.length > 0 ? `${parts.join('/')}/` : ''
}

export function isOurName(name: string): boolean {
  try {
    return partsOf(name).length > 0
  } catch {
    return false
  }
}

/** Whether one part of a name could be ours. */
export const isOurPart = (text: string): boolean => part.test(text)
