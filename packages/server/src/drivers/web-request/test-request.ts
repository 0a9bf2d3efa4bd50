import { expect } from 'vitest'
import type { OutgoingRequest } from './web-request.ts'

/** For tests only: a secret that must turn up nowhere. */
export const canary = 'canary-7f3a9c'

export const post = (url: string, more: Partial<OutgoingRequest> = {}): OutgoingRequest => ({
  url,
  method: 'POST',
  body: '{}',
  ...more,
})

export const failureOf = async (sending: Promise<unknown>): Promise<Error & { reason?: string }> =>
  sending.then(
    () => expect.unreachable('it was sent'),
    (error) => error,
  )

/** All that could end up in a log or a record. */
export const everythingIn = (error: Error) =>
  `${error.stack} ${JSON.stringify(error)} ${JSON.stringify(error.cause)} ${String(error)}`
