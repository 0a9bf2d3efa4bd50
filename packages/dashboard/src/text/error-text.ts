import { ApiError } from '@berth/contract/client'

/** Describes an error: what happened, and what to do next. */
export function errorText(error: unknown): { title: string; message: string } {
  if (!(error instanceof ApiError)) {
    return error instanceof TypeError
      ? { title: 'The server is unreachable', message: 'Check your connection. This page retries automatically.' }
      : { title: 'Something went wrong', message: error instanceof Error ? error.message : String(error) }
  }
  const title = titles[error.status] ?? (error.status >= 500 ? 'Server error' : 'Request rejected')
  const id = error.status >= 500 && error.requestId ? ` Request ${error.requestId}.` : ''
  const advice = next[error.status]
  const sentence = /[.!?]$/.test(error.message) || !(advice || id) ? error.message : `${error.message}.`
  return { title, message: `${sentence}${advice ? ` ${advice}` : ''}${id}` }
}

const titles: Record<number, string> = {
  401: 'You are signed out',
  403: 'Permission denied',
  404: 'Not found',
  409: 'Not possible right now',
  413: 'Too large',
  429: 'Too many requests',
  501: 'Not implemented',
}

const next: Record<number, string> = {
  401: 'Sign in again.',
  403: 'Ask an owner or admin of the organisation.',
  404: 'It may have been deleted, or belong to another organisation.',
}
