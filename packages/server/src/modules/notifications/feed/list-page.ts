import { BadCursor } from '../../../platform/db/pages.ts'
import type { ListRequest } from '../store.ts'

/** One page of a list that is part of the program; the cursor names the last one of the page before. */
export function pageOf<Item extends { id: string }>(items: readonly Item[], { limit = 100, cursor }: ListRequest) {
  const start = cursor === undefined ? 0 : items.findIndex(({ id }) => id === decoded(cursor)) + 1
  if (cursor !== undefined && start === 0) throw new BadCursor()
  const rows = items.slice(start, start + limit)
  const hasMore = start + limit < items.length
  return { rows, nextCursor: hasMore ? encoded(rows.at(-1)!.id) : null }
}

const encoded = (id: string) => Buffer.from(id).toString('base64url')
const decoded = (cursor: string) => Buffer.from(cursor, 'base64url').toString()
