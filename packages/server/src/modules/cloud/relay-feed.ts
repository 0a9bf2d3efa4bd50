import { type CategoryId, categories, type Delivery } from '@berth/contract'
import { cloudLinkJson, type FeedPosition } from '../../platform/db/json-columns/cloud.ts'
import type { CloudDeps } from './deps.ts'
import type { Link } from './links.ts'
import { requestCloud } from './request-cloud.ts'
import { saveFeedPosition } from './store.ts'

/** The period that is read again, because deliveries are committed a little later than their time. */
const overlapMs = 2 * 60_000
const pageSize = 200
const maxAnnounced = 50
const knownCategories: ReadonlySet<string> = new Set(categories.map(({ id }) => id))

/**
 * Announces the cloud's notifications about its projects to the linked organisation. The feed of the user who created the link's
 * token is read. A new link starts with the next notification.
 */
export async function relayFeed(link: Link, deps: CloudDeps, abort: AbortSignal): Promise<void> {
  const { organizationId } = link.row
  const path = `/api/notifications/deliveries?limit=${pageSize}`
  const { status, body } = await requestCloud(deps.api, link.address, { method: 'GET', path, abort })
  // A token without the scope has no access to the feed.
  if (status !== 200 || !Array.isArray(body?.data)) return
  const feed = (body.data as Delivery[]).filter(isReadable)
  const position = cloudLinkJson.feedPosition(link.row)
  const newDeliveries = position ? feed.filter((one) => isNew(one, position)).slice(-maxAnnounced) : []
  const next = nextPosition(position, position ? [...newDeliveries, ...feed.filter((one) => !isNew(one, position))] : feed, deps)
  if (position && newDeliveries.length === 0) return
  await deps.database.transaction(async ({ db, announce }) => {
    if (!(await saveFeedPosition(db, link.row, JSON.stringify(next)))) return
    for (const { category, projectId, subject, text } of oncePerEvent(newDeliveries).toReversed())
      await announce(category as CategoryId, {
        organizationId,
        projectId: projectId as string,
        subject: subject.replace(/\p{Cc}/gu, ' ').slice(0, 300),
        text: text.slice(0, 5_000),
        data: { location: 'cloud' },
      })
  })
}

/** The cloud's response is untrusted: only deliveries about a project, in a category that this version knows, are read. */
const isReadable = (one: Delivery | null): one is Delivery =>
  one !== null &&
  typeof one.id === 'string' &&
  one.channelKind === 'in_app' &&
  knownCategories.has(one.category) &&
  /^prj_[a-z2-7]{20}$/.test(String(one.projectId)) &&
  typeof one.subject === 'string' &&
  typeof one.text === 'string' &&
  Number.isFinite(Date.parse(one.createdAt))

const isNew = ({ id, createdAt }: Delivery, { at, ids }: FeedPosition): boolean =>
  Date.parse(createdAt) > at - overlapMs && !ids.includes(id)

/** A user with two in-app channels has two deliveries of one event. */
function oncePerEvent(deliveries: readonly Delivery[]): Delivery[] {
  const keyOf = ({ category, projectId, subject, text }: Delivery) => JSON.stringify([category, projectId, subject, text])
  return [...new Map(deliveries.map((one) => [`${keyOf(one)} ${one.createdAt}`, one])).values()]
}

function nextPosition(position: FeedPosition | null, read: readonly Delivery[], { clock }: CloudDeps): FeedPosition {
  const newest = read.map(({ createdAt }) => Date.parse(createdAt))
  const at = Math.max(position?.at ?? 0, ...newest, position ? 0 : clock.now().getTime() - overlapMs)
  const recent = read.filter(({ createdAt }) => Date.parse(createdAt) > at - overlapMs)
  return { at, ids: recent.map(({ id }) => id) }
}
