import { ApiError } from '@berth/contract/client'

/** Describes an error: what happened, and what to do next. */
export function errorWords(error: unknown): { title: string; message: string } {
  if (!(error instanceof ApiError)) {
    return error instanceof TypeError
      ? { title: 'The server is unreachable', message: 'Check your connection; this page tries again by itself.' }
      : { title: 'Something went wrong', message: error instanceof Error ? error.message : String(error) }
  }
  const title = titles[error.status] ?? (error.status >= 500 ? 'The server could not do this' : 'This was refused')
  const id = error.status >= 500 && error.requestId ? ` Request ${error.requestId}.` : ''
  return { title, message: `${error.message}${next[error.status] ? ` ${next[error.status]}` : ''}${id}` }
}

const titles: Record<number, string> = {
  401: 'You are signed out',
  403: 'You may not do this',
  404: 'Not found',
  409: 'Not possible right now',
  413: 'Too large',
  429: 'Too many requests',
  501: 'Not built yet',
}

const next: Record<number, string> = {
  401: 'Sign in again.',
  403: 'Ask an owner or admin of the organisation.',
  404: 'It may have been deleted, or belong to another organisation.',
}
