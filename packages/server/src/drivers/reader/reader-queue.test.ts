import { expect, test } from 'vitest'
import { ReaderQueue, TooManyWaiting } from './reader-queue.ts'

/** Takes turns by name and notes the order in which they began. */
function startQueue(maxConcurrent: number, maxWaiting = 100) {
  const queue = new ReaderQueue({ maxConcurrent, maxWaiting })
  const began: string[] = []
  const ends = new Map<string, () => void>()
  const request = (holder: string, name: string, abort?: AbortSignal) =>
    queue.acquire(holder, abort).then((end) => {
      began.push(name)
      ends.set(name, end)
    })
  const end = async (name: string) => {
    ends.get(name)!()
    await settled()
  }
  return { queue, began, request, end }
}

const settled = () => new Promise((resolve) => setImmediate(resolve))

test('organisations alternate, however many folders one of them has', async () => {
  const { began, request, end } = startQueue(1)
  for (let at = 1; at <= 4; at += 1) void request('greedy', `greedy ${at}`)
  void request('other', 'other 1')
  void request('third', 'third 1')
  void request('other', 'other 2')
  await settled()
  for (const name of ['greedy 1', 'greedy 2', 'other 1', 'third 1', 'greedy 3', 'other 2']) await end(name)
  expect(began).toEqual(['greedy 1', 'greedy 2', 'other 1', 'third 1', 'greedy 3', 'other 2', 'greedy 4'])
})

test('no organisation uses all slots: another one starts at once', async () => {
  const { began, request, end } = startQueue(2)
  for (let at = 1; at <= 3; at += 1) void request('greedy', `greedy ${at}`)
  await settled()
  expect(began).toEqual(['greedy 1'])
  await request('other', 'other 1')
  expect(began).toEqual(['greedy 1', 'other 1'])
  await end('other 1')
  expect(began).toHaveLength(2)
  await end('greedy 1')
  expect(began).toEqual(['greedy 1', 'other 1', 'greedy 2'])
})

test('the queue of each organisation is limited, and does not affect others', async () => {
  const { request, began, end } = startQueue(1, 2)
  for (let at = 1; at <= 3; at += 1) void request('greedy', `greedy ${at}`)
  await expect(request('greedy', 'greedy 4')).rejects.toBeInstanceOf(TooManyWaiting)
  void request('other', 'other 1')
  for (const name of ['greedy 1', 'greedy 2']) await end(name).catch(() => settled())
  expect(began).toContain('other 1')
})

test('an abort before or during the wait leaves the queue unchanged', async () => {
  const { queue, request, began, end } = startQueue(1)
  await expect(request('one', 'never', AbortSignal.abort(new Error('too late')))).rejects.toThrow('too late')
  expect(queue.hasFreeSlot).toBe(true)
  await request('one', 'first')
  const gone = new AbortController()
  const waiting = request('two', 'gives up', gone.signal)
  void request('two', 'stays')
  gone.abort(new Error('no more time'))
  await expect(waiting).rejects.toThrow('no more time')
  await end('first')
  expect(began).toEqual(['first', 'stays'])
  await end('stays')
  expect(queue.hasFreeSlot).toBe(true)
})

test('a slot that is released twice is released once', async () => {
  const { queue, request, end } = startQueue(2)
  await request('one', 'a')
  await request('two', 'b')
  await end('a')
  await end('a')
  await request('three', 'c')
  expect(queue.hasFreeSlot).toBe(false)
})
