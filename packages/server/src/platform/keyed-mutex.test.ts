import { expect, test } from 'vitest'
import { KeyedMutex, Mutex } from './keyed-mutex.ts'

test('calls run in order and one at a time, also after a failed one', async () => {
  const mutex = new Mutex()
  const events: string[] = []
  const gate = Promise.withResolvers<void>()
  const first = mutex.run(async () => {
    events.push('first begins')
    await gate.promise
    events.push('first ends')
    throw new Error('no')
  })
  const second = mutex.run(async () => events.push('second'))
  const third = mutex.run(async () => events.push('third'))
  gate.resolve()
  await expect(first).rejects.toThrow('no')
  await Promise.all([second, third])
  expect(events).toEqual(['first begins', 'first ends', 'second', 'third'])
})

test('other keys do not wait, and an aborted wait does not let later calls overtake', async () => {
  const mutex = new KeyedMutex()
  const gate = Promise.withResolvers<void>()
  const events: string[] = []
  const first = mutex.run('a', () => gate.promise)
  await mutex.run('b', async () => events.push('b'))
  const ended = new AbortController()
  const second = mutex.run('a', async () => events.push('second'), ended.signal)
  const third = mutex.run('a', async () => events.push('third'))
  ended.abort(new Error('given up'))
  await expect(second).rejects.toThrow('given up')
  expect(events).toEqual(['b'])
  gate.resolve()
  await Promise.all([first, third])
  expect(events).toEqual(['b', 'third'])
})
