import { iso } from '../../../platform/db/columns.ts'
import { announcementJson } from '../../../platform/db/json-columns/notifications.ts'
import type { KeyedMutex } from '../../../platform/keyed-mutex.ts'
import { findJoined, keepJoinedMessages, type SendingRow } from '../delivery-store.ts'
import type { NotificationsDeps } from '../deps.ts'
import { clamp } from '../kinds/clamp.ts'
import { joinMessages, type Message } from '../kinds/message.ts'

/** The message of a delivery, the same at every attempt: the joined deliveries are fixed when the first attempt begins. */
export function messageOf(row: SendingRow, locks: KeyedMutex, deps: NotificationsDeps): Promise<Message> {
  // A burst ends with many digests at once, each with hundreds of rows: render one at a time.
  return row.joinedCount === 0
    ? Promise.resolve(asMessage(row, row, deps))
    : locks.run('joined', () => joinedMessageOf(row, deps))
}

async function joinedMessageOf(row: SendingRow, deps: NotificationsDeps): Promise<Message> {
  const { db } = deps.database
  const all = (await findJoined(db, row.id)).map((one) => asMessage(one, row, deps))
  const joined = { ...joinMessages(all), id: row.id }
  if (row.joinedSubject === null && all.length > 1)
    await keepJoinedMessages(db, row.id, clamp(joined.subject, 300), clamp(joined.text, 8_000))
  return joined
}

type Reported = Pick<SendingRow, 'id' | 'subject' | 'text' | 'data' | 'projectId' | 'projectName' | 'happenedAt'>

function asMessage(reported: Reported, row: SendingRow, { publicUrl }: NotificationsDeps): Message {
  const { projectId, projectName } = reported
  const home = publicUrl()
  return {
    id: reported.id,
    category: row.category,
    organizationId: row.organizationId,
    organizationName: row.organizationName,
    ...(projectId === null ? {} : { projectId }),
    ...(projectName === null ? {} : { projectName }),
    subject: reported.subject,
    text: reported.text,
    data: announcementJson.data(reported),
    createdAt: iso(reported.happenedAt),
    // A deleted project has no page.
    url: projectId !== null && projectName !== null ? `${home}/projects/${projectId}` : `${home}/notifications`,
    settingsUrl: `${home}/notifications`,
  }
}
