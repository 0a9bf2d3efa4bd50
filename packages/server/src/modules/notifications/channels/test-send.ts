import type { Channel } from '@berth/contract'
import { iso } from '../../../platform/db/columns.ts'
import { newId } from '../../../platform/db/ids.ts'
import type { ChannelRow } from '../../../platform/db/tables/notifications.ts'
import { fail } from '../../../platform/failure.ts'
import { findOrganizationName } from '../../access/index.ts'
import { type NotificationsDeps, nowOf } from '../deps.ts'
import { DeliveryFailed } from '../kinds/kind.ts'
import type { Message } from '../kinds/message.ts'
import * as store from '../store.ts'
import { kindOf, openConfig, show } from './channels.ts'

/** Limit for the whole test delivery, because the user waits for it; each driver call has its own limit too. */
const limitMs = 20_000

/** Sends one test message now; a successful delivery verifies the channel. */
export function createTestSend(deps: NotificationsDeps) {
  const pace = new Pace()
  return async (channel: ChannelRow, organizationId: string): Promise<Channel> => {
    const now = nowOf(deps)
    pace.take(channel.userId, now)
    await send(await testMessage(organizationId, deps), channel, deps)
    const verified = await store.markVerified(deps.database.db, channel, now)
    if (!verified) fail('delivery_failed', { message: 'The channel was changed or deleted during the test. Test it again.' })
    return show(verified, deps)
  }
}

async function send(message: Message, channel: ChannelRow, deps: NotificationsDeps): Promise<void> {
  const { config, secrets } = openConfig(channel, deps)
  const drivers = { ...deps.drivers, now: () => deps.clock.now() }
  const abort = AbortSignal.timeout(limitMs)
  await kindOf(channel.kind)
    .deliver(message, config, secrets, drivers, abort)
    .catch((error: unknown) => {
      if (error instanceof DeliveryFailed) fail('delivery_failed', { message: error.reason, cause: error })
      if (abort.aborted) fail('delivery_failed', { message: `No response within ${limitMs / 1000} s` })
      throw error
    })
}

async function testMessage(organizationId: string, deps: NotificationsDeps): Promise<Message> {
  const organizationName = await findOrganizationName(deps.database.db, organizationId)
  return {
    id: newId('ndl'),
    category: 'test',
    organizationId,
    organizationName,
    subject: 'Test notification from Berth',
    text: 'This channel works. You will receive notifications here.',
    data: { test: true },
    createdAt: iso(nowOf(deps)),
    settingsUrl: `${deps.publicUrl()}/notifications`,
  }
}

const windowMs = 60_000
const maxTests = 20

/**
 * Rate limit for test messages: they go to unconfirmed addresses and must not be usable to flood a stranger. Each control plane
 * counts separately.
 */
class Pace {
  #startedAt = 0
  readonly #counts = new Map<string, number>()

  take(userId: string, now: number): void {
    if (now - this.#startedAt >= windowMs) {
      this.#startedAt = now
      this.#counts.clear()
    }
    const count = (this.#counts.get(userId) ?? 0) + 1
    this.#counts.set(userId, count)
    if (count <= maxTests) return
    const retryAfterSeconds = Math.max(1, Math.ceil((this.#startedAt + windowMs - now) / 1000))
    fail('rate_limited', { retryAfterSeconds, message: `Too many test notifications. Try again in ${retryAfterSeconds} s.` })
  }
}
