import { GitHostError } from './git-host-error.ts'

export function invalidResponse(title: string, what: string): never {
  throw new GitHostError('invalidResponse', `${title} returned a response that is not ${what}. Check the URL of the git host.`)
}

export function timeFrom(text: string | null): string | null {
  const time = text === null ? Number.NaN : Date.parse(text)
  return Number.isNaN(time) ? null : new Date(time).toISOString()
}

export const webAddress = (text: string | null): string | null =>
  text && /^https?:$/.test(URL.parse(text)?.protocol ?? '') ? text : null
