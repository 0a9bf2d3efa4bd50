import type { ExpiringCertificate, WatchedCertificates } from '../watched.ts'
import { daysFrom, timeLeft, warningsDue } from './expiry.ts'
import type { Notice } from './once.ts'

const daysBefore = [21, 7, 1]

/**
 * A project's certificate that was not renewed is announced 21, 7 and 1 days before it expires. While a certificate of the
 * instance itself has a problem, each operator is notified once a day.
 */
export async function certificateNotices(certificates: WatchedCertificates, now: Date): Promise<Notice[]> {
  const expiring = await certificates.expiring(daysFrom(now, Math.max(...daysBefore)))
  return [...expiring.flatMap((certificate) => noticeOf(certificate, now)), ...(await ownNotices(certificates, now))]
}

async function ownNotices({ ownProblems, operators }: WatchedCertificates, now: Date): Promise<Notice[]> {
  const problems = await ownProblems()
  if (problems.length === 0) return []
  const receivers = await operators()
  return problems.flatMap(({ hostname, message }) =>
    receivers.map((operator) => ({
      keys: [`certificate-problem:${hostname}:${operator.userId}`],
      forgetAt: daysFrom(now, 1),
      category: 'instance.certificate_failed' as const,
      event: { ...operator, subject: `The certificate of ${hostname} has a problem`, text: message, data: { hostname } },
    })),
  )
}

function noticeOf({ hostname, organizationId, projectId, issuedAt, expiresAt }: ExpiringCertificate, now: Date): Notice[] {
  const [first, ...rest] = warningsDue(daysBefore, { from: issuedAt, until: expiresAt }, now).map(
    // The key contains the expiry, so the next certificate of the same name is announced separately.
    (days) => `certificate:${hostname}:${expiresAt.getTime()}:${days}`,
  )
  if (!first) return []
  const message = expiresAt <= now ? 'has expired' : `expires ${timeLeft(expiresAt, now)}`
  const event = {
    organizationId,
    projectId,
    subject: `The certificate of ${hostname} ${message}`,
    text: `The certificate of ${hostname} expires on ${expiresAt.toISOString()} and was not renewed. Browsers will reject the site after that.`,
    data: { hostname, expiresAt: expiresAt.toISOString() },
  }
  return [{ keys: [first, ...rest], forgetAt: daysFrom(expiresAt, 30), category: 'domain.expiring', event }]
}
