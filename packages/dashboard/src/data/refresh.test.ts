import { contract } from '@berth/contract'
import { QueryClient, QueryObserver } from '@tanstack/react-query'
import { expect, onTestFinished, test } from 'vitest'
import { keyOf } from './query-key.ts'
import { refresh } from './refresh.ts'

const row = contract.backups.getRestore

test.each([{ readsBefore: 0 }, { readsBefore: 1 }])(
  'after $readsBefore reads, a refresh during a read discards the reply of that read',
  async ({ readsBefore }) => {
    const replies: ((status: string) => void)[] = []
    const queries = new QueryClient()
    const observer = new QueryObserver(queries, {
      queryKey: keyOf(row, { params: { restoreId: 'rst_1' } }),
      queryFn: () => new Promise<string>((resolve) => replies.push(resolve)),
    })
    onTestFinished(observer.subscribe(() => {}))
    for (let reads = 0; reads < readsBefore; reads++) {
      await expect.poll(() => replies.length).toBe(reads + 1)
      replies[reads]?.('before')
      await expect.poll(() => observer.getCurrentResult().data).toBe('before')
      void observer.refetch()
    }
    await expect.poll(() => replies.length).toBe(readsBefore + 1)

    const refreshed = refresh(queries, row)
    await expect.poll(() => replies.length).toBe(readsBefore + 2)
    replies[readsBefore]?.('outdated')
    replies[readsBefore + 1]?.('current')
    await refreshed

    expect(observer.getCurrentResult().data).toBe('current')
  },
)
