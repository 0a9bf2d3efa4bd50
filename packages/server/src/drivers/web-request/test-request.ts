import { expect } from 'vitest'
import type { OutgoingRequest } from './web-request.ts'

/** Test value: a secret that must not appear anywhere. */
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

/** All text of an error that could end up in a log or a row. */
export const everythingIn = (error: Error) =>
  `${error.stack} ${JSON.stringify(error)} ${JSON.stringify(error.cause)} ${String(error)}`
