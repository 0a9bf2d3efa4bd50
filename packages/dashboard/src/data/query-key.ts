import type { AnyRoute } from '@berth/contract'

/** The query key of all reads of a route; with an input, the key of one read. */
export const keyOf = (route: AnyRoute, input?: unknown) => (input === undefined ? [route.at] : [route.at, input])
