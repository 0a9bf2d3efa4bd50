import type { AnyRoute } from '@berth/contract'

/** The query key of all reads of a route; with an input, the key of one read. */
export const keyOf = (row: AnyRoute, input?: unknown) => (input === undefined ? [row.at] : [row.at, input])
