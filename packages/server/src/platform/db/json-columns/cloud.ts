import { type Static, Type } from 'typebox'
import { jsonColumn } from './json-column.ts'

/** Position in the cloud's feed: the newest time, and the delivery ids of the last minutes before it. */
const FeedPosition = Type.Object({ at: Type.Number(), ids: Type.Array(Type.String()) })
export type FeedPosition = Static<typeof FeedPosition>

export const cloudLinkJson = {
  feedPosition: jsonColumn('cloudLinks', 'feedPosition', FeedPosition, ['organizationId']),
}
