import { StoreFailure } from './store-failure.ts'

const part = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}$/
const maxNameLength = 900

/** The parts of an archive's name. Any other text is an internal error, and is not sent to a destination. */
export function parseArchiveName(name: string): string[] {
  const parts = name.split('/')
  if (name.length > maxNameLength || !parts.every((one) => part.test(one)))
    throw new StoreFailure('other', `${JSON.stringify(name.slice(0, 100))} is not a valid archive name`)
  return parts
}

/** The parts of a prefix; empty for all names. */
export function parseArchivePrefix(prefix: string): string[] {
  if (prefix === '') return []
  if (!prefix.endsWith('/')) throw new StoreFailure('other', `${JSON.stringify(prefix.slice(0, 100))} does not end with a slash`)
  return parseArchiveName(prefix.slice(0, -1))
}

/** The key prefix of every name in a bucket, from the prefix that a user entered. */
export const keyPrefixOf = (prefix = ''): string => {
  const parts = prefix.split('/').filter((part) => part !== '')
  return parts.length > 0 ? `${parts.join('/')}/` : ''
}

export function isArchiveName(name: string): boolean {
  try {
    return parseArchiveName(name).length > 0
  } catch {
    return false
  }
}

/** Whether the text is a valid part of an archive's name. */
export const isArchiveNamePart = (text: string): boolean => part.test(text)
