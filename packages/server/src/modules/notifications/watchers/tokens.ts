import type { ExpiringToken, TokenExpiries } from '../watched.ts'
import { daysFrom, timeLeft, warningsDue } from './expiry.ts'
import type { Notice } from './once.ts'

const daysBefore = [7, 1]

/** Each owner is warned 7 days and 1 day before one of their tokens expires. */
export async function tokenNotices(tokens: TokenExpiries, now: Date): Promise<Notice[]> {
  const expiring = await tokens.expiring(now, daysFrom(now, Math.max(...daysBefore)))
  return expiring.flatMap((token) => noticeOf(token, now))
}

function noticeOf(token: ExpiringToken, now: Date): Notice[] {
  const { id, name, lastFour, userId, organizationId, createdAt, expiresAt } = token
  const [first, ...rest] = warningsDue(daysBefore, { from: createdAt, until: expiresAt }, now).map(
    (days) => `token:${id}:${days}`,
  )
  if (!first) return []
  const event = {
    organizationId,
    userId,
    subject: `Your access token “${name}” expires ${timeLeft(expiresAt, now)}`,
    text: `The personal access token “${name}” (…${lastFour}) stops working on ${expiresAt.toISOString()}. Replace it before then.`,
    data: { tokenId: id, expiresAt: expiresAt.toISOString() },
  }
  return [{ keys: [first, ...rest], forgetAt: daysFrom(expiresAt, 1), category: 'token.expiring', event }]
}
