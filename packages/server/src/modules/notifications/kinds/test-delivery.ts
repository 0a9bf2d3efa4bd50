import { createMailer } from '../../../drivers/mail/mailer.ts'
import { testAuthority } from '../../../drivers/web-request/test-receiver.ts'
import { createWebRequest } from '../../../drivers/web-request/web-request.ts'
import { type DeliveryDrivers, DeliveryFailed } from './kind.ts'
import type { Message } from './message.ts'

/** A message for tests. */
export const exampleMessage = (changes: Partial<Message> = {}): Message => ({
  id: 'ndl_abcdefghijklmnopqrst',
  category: 'deploy.failed',
  organizationId: 'org_1',
  organizationName: 'Harbour & Sons',
  projectId: 'prj_1',
  projectName: 'shop',
  subject: 'Deployment 12 of shop failed',
  text: 'The health check did not pass.\n\nLast status: 502',
  data: { deploymentId: 'dep_1', number: 12 },
  createdAt: '2026-01-01T00:00:00.000Z',
  url: 'https://berth.example.com/projects/prj_1',
  ...changes,
})

/** The real drivers; all host names resolve to loopback, where the test receivers listen. */
export const testDrivers = (changes: Partial<DeliveryDrivers> = {}): DeliveryDrivers => ({
  webRequest: createWebRequest({ allowPrivate: true, resolve: async () => ['127.0.0.1'], ca: testAuthority }),
  mailer: createMailer({ smtpUrl: undefined }),
  now: () => new Date(),
  ...changes,
})

export const unaborted = new AbortController().signal

export async function failureOf(delivery: Promise<void>): Promise<DeliveryFailed> {
  const failure = await delivery.then(
    () => new Error('it was delivered'),
    (error: unknown) => error,
  )
  if (failure instanceof DeliveryFailed) return failure
  throw failure
}

/** All text of an error that could end up in a log or a row. */
export const everythingIn = (error: Error) =>
  `${error.stack} ${JSON.stringify(error)} ${JSON.stringify(error.cause)} ${String(error)}`
