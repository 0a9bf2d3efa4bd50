import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { clientDisconnected, ReadSlots, readLimits } from './read-slots.ts'

const never = () => false

/** Reads of one caller that are under way until they are ended. */
function fill(slots: ReadSlots, who: string) {
  const ends: (() => void)[] = []
  const answers = Array.from({ length: readLimits.concurrent }, () =>
    slots.run(who, never, () => new Promise<string>((resolve) => ends.push(() => resolve('answer')))),
  )
  return { answers, end: () => ends.splice(0).map((end) => end()) }
}

test('a waiting read whose client disconnected is not computed, and the next one is', async () => {
  const slots = new ReadSlots()
  const { answers, end } = fill(slots, 'one')
  let [isGone, computed] = [false, 0]
  const read = async () => {
    computed += 1
    return computed
  }
  const abandoned = slots.run('one', () => isGone, read)
  const next = slots.run('one', never, read)
  isGone = true
  end()
  expect(await abandoned).toBe(clientDisconnected)
  expect(await next).toBe(1)
  expect(await Promise.all(answers)).toEqual(answers.map(() => 'answer'))
})

test('a client that is already disconnected does not wait', () => {
  expect(
    new ReadSlots().run(
      'one',
      () => true,
      () => 'answer',
    ),
  ).toBe(clientDisconnected)
})

test('another caller does not wait, and a read from memory needs no slot', async () => {
  const slots = new ReadSlots()
  const { end, answers } = fill(slots, 'one')
  expect(slots.run('two', never, () => 'at once')).toBe('at once')
  expect(await slots.run('two', never, async () => 'soon')).toBe('soon')
  end()
  await Promise.all(answers)
})

test('reads that wait for a peer do not block other reads of their caller', async () => {
  const slots = new ReadSlots()
  const [first, second] = [fill(slots, 'one'), fill(slots, 'one')]
  expect(await slots.run('one', never, async () => 'soon')).toBe('soon')
  for (const { end, answers } of [first, second]) {
    end()
    await Promise.all(answers)
  }
})

test('a failed read releases its slot', async () => {
  const slots = new ReadSlots()
  for (let round = 0; round < 3 * readLimits.concurrent; round += 1)
    await expect(slots.run('one', never, async () => Promise.reject(new Error('broken')))).rejects.toThrow('broken')
  await turn()
  const { end, answers } = fill(slots, 'one')
  const failing = slots.run('one', never, () => {
    throw new Error('at once')
  })
  end()
  await expect(failing).rejects.toThrow('at once')
  await Promise.all(answers)
  expect(await slots.run('one', never, async () => 'soon')).toBe('soon')
})
