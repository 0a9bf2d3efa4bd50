import type { ChannelBody, ChannelChanges, FieldProblem } from '@berth/contract'
import { newId } from '../../../platform/db/ids.ts'
import { channelJson } from '../../../platform/db/json-columns/notifications.ts'
import { sealedFor } from '../../../platform/db/sealed-columns.ts'
import type { ChannelRow } from '../../../platform/db/tables/notifications.ts'
import { fail, refuse } from '../../../platform/failure.ts'
import type { TransactionContext } from '../../../platform/transaction.ts'
import { endQueuedOf } from '../delivery-store.ts'
import { type NotificationsDeps, nowOf } from '../deps.ts'
import type { ChannelKind, Stored } from '../kinds/kind.ts'
import { channelKind } from '../kinds/registry.ts'
import * as store from '../store.ts'

type AnyStored = Stored<object, object>

const maxChannels = 100

export async function createChannel(body: ChannelBody, owner: store.Owner, deps: NotificationsDeps) {
  const kind = kindOf(body.kind)
  const checked = kind.checkConfig(body.config ?? {}, deps.settings)
  if (!checked.ok) return refuseConfig(checked.problems)
  const now = nowOf(deps)
  const id = newId('nch')
  const row = await deps.database.transaction(async ({ db, lock }) => {
    await lock(store.channelsLock(owner))
    if ((await store.countChannels(db, owner)) >= maxChannels)
      fail('conflict', { message: `You already have ${maxChannels} channels, the maximum. Delete one first.` })
    if (body.kind === 'in_app') await store.optIntoFeed(db, owner)
    return store.insertChannel(db, {
      id,
      userId: owner.userId,
      kind: body.kind,
      label: body.label.trim(),
      ...sealed(id, checked, deps),
      configRevision: 1,
      enabled: true,
      verified: isAlwaysVerified(body.kind),
      createdAt: now,
      updatedAt: now,
    })
  })
  return { ...show(row, deps), ...checked.shownOnce }
}

/**
 * Changes a channel. The row is read inside the transaction, so of two concurrent changes the second sees the result of the first.
 */
export function changeChannel({ id, ...owner }: ChannelRow, changes: ChannelChanges, deps: NotificationsDeps) {
  return deps.database.transaction(async ({ db, lock }) => {
    await lock(`notifications:channel:${id}`)
    const row = (await store.findChannelOf(db, owner, id)) ?? fail('not_found')
    const config = changes.config === undefined ? undefined : changedConfig(row, changes.config, deps)
    const verified = verifiedAfter(row, { configChanged: config !== undefined, requested: changes.verified })
    const label = changes.label?.trim() ?? row.label
    const enabled = changes.enabled ?? row.enabled === 1
    const isSame = !config && label === row.label && enabled === (row.enabled === 1) && verified === (row.verified === 1)
    const warnings = changes.verified === false && isAlwaysVerified(row.kind) ? [alwaysVerifiedWarning] : []
    if (isSame) return { data: show(row, deps), ...(warnings.length > 0 ? { warnings } : {}) }
    const changed = await store.updateChannel(db, id, {
      label,
      enabled,
      verified,
      ...(config ? { ...sealed(id, config, deps), configRevision: row.configRevision + 1 } : {}),
      updatedAt: nowOf(deps),
    })
    if (row.verified === 1 && !verified && config !== undefined) warnings.push(unverifiedWarning)
    return { data: show(changed, deps), ...(warnings.length > 0 ? { warnings } : {}) }
  })
}

const alwaysVerifiedWarning = 'The in-app channel is always verified: disable it to receive nothing through it.'
const unverifiedWarning =
  'The destination of the channel changed, so the channel must be verified again before it delivers. Verify it with POST /notifications/channels/:id/test.'

/**
 * The verified flag after a change. In-app is always verified. A changed config unverifies a verified channel, even if the same
 * change sends `verified`.
 */
export function verifiedAfter(
  { kind, verified }: Pick<ChannelRow, 'kind' | 'verified'>,
  { configChanged, requested }: { configChanged: boolean; requested: boolean | undefined },
): boolean {
  if (isAlwaysVerified(kind)) return true
  if (configChanged && verified === 1) return false
  return requested ?? verified === 1
}

/**
 * Deletes a channel. Its queued deliveries fail; sent ones stay in the feed. A user who deletes the last in-app channel gets no
 * default one.
 */
export function deleteChannel(channel: ChannelRow, deps: NotificationsDeps): Promise<void> {
  return deps.database.transaction(async ({ db, lock }: TransactionContext) => {
    await lock(store.channelsLock(channel))
    await endQueuedOf(db, channel.id, 'The channel was deleted')
    await store.deleteRow(db, 'notificationChannels', channel.id)
    if (channel.kind === 'in_app' && !(await store.findInAppChannel(db, channel)))
      await store.optOutOfFeed(db, channel, nowOf(deps))
  })
}

export const show = (row: ChannelRow, deps: Pick<NotificationsDeps, 'secretBox' | 'scrubber'>) => {
  const { config, secrets } = openConfig(row, deps)
  return store.showChannel(row, kindOf(row.kind).redact(config, secrets))
}

/** The config with its secrets, which are also registered with the log scrubber. */
export function openConfig(
  channel: Pick<ChannelRow, 'id' | 'config' | 'secrets'>,
  { secretBox, scrubber }: Pick<NotificationsDeps, 'secretBox' | 'scrubber'>,
): AnyStored {
  const { id, secrets } = channel
  const opened = secrets ? channelJson.secrets(secretBox.open(secrets, sealedFor.channelSecrets(id)).reveal(), id) : {}
  scrubber.register(...Object.values(opened))
  return { config: channelJson.config(channel), secrets: opened }
}

export function kindOf(name: string): ChannelKind {
  return channelKind(name) ?? refuse('kind', 'is not a supported kind of channel')
}

const isAlwaysVerified = (kind: string) => kind === 'in_app'

/** Returns undefined when the destination is unchanged. */
function changedConfig(row: ChannelRow, input: object, deps: NotificationsDeps): AnyStored | undefined {
  const kind = kindOf(row.kind)
  const before = openConfig(row, deps)
  const checked = kind.checkConfig(input, deps.settings, before)
  if (!checked.ok) return refuseConfig(checked.problems)
  return kind.sameConfig(before, checked) ? undefined : checked
}

function sealed(id: string, { config, secrets }: AnyStored, { secretBox }: NotificationsDeps) {
  const text = JSON.stringify(secrets)
  return { config: JSON.stringify(config), secrets: text === '{}' ? null : secretBox.seal(text, sealedFor.channelSecrets(id)) }
}

function refuseConfig(details: FieldProblem[]): never {
  const [first = { field: 'config', message: 'is not valid' }] = details
  return fail('validation_failed', { message: `${first.field}: ${first.message}`, field: first.field, details })
}
