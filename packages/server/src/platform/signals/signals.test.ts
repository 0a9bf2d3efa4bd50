import { CompiledQuery } from 'kysely'
import { expect, test, vi } from 'vitest'
import { describeOnEachDatabase } from '../test-each-database.ts'
import { memorySignals } from './memory.ts'
import { isReread } from './signals.ts'

describeOnEachDatabase('signals', (open, kind) => {
  /** Two control planes on PostgreSQL; on SQLite there is only the one. */
  const pair = async () => {
    const first = await open()
    const second = kind === 'postgres' ? await first.openAgain() : first
    const close = async () => void (second !== first && (await second.close()))
    return { here: first.signals, there: second.signals, close, database: first }
  }

  test('an event reaches every listener of its topic, here and on another control plane, once and in order', async () => {
    const { here, there, close } = await pair()
    const heard: Record<string, number[]> = { here: [], there: [], other: [] }
    here.subscribe<{ n: number }>('build', (event) => 'n' in event && heard.here?.push(event.n))
    there.subscribe<{ n: number }>('build', (event) => 'n' in event && heard.there?.push(event.n))
    there.subscribe<{ n: number }>('another', (event) => 'n' in event && heard.other?.push(event.n))
    for (let n = 0; n < 300; n++) here.publish('build', { n })
    here.publish('another', { n: -1 })
    const all = Array.from({ length: 300 }, (_, n) => n)
    await vi.waitFor(() => expect(heard).toEqual({ here: all, there: all, other: [-1] }), 50_000)
    await close()
  })

  test('an unsubscribed listener gets no events, and a throwing one does not affect others', async () => {
    const { here, close } = await pair()
    const heard: string[] = []
    const unsubscribe = here.subscribe('build', () => heard.push('left'))
    here.subscribe('build', () => {
      throw new Error('a bad listener')
    })
    here.subscribe('build', () => heard.push('stayed'))
    unsubscribe()
    here.publish('build', {})
    expect(heard).toEqual(['stayed'])
    await close()
  })

  test('an event too large for NOTIFY arrives as a reread', async (context) => {
    if (kind === 'sqlite') context.skip('within one process there is no limit')
    const { here, there, close } = await pair()
    const heard: object[] = []
    there.subscribe('build', (event) => heard.push(event))
    here.publish('build', { text: 'ä'.repeat(4000) })
    here.publish('build', { text: 'x'.repeat(7000) })
    await vi.waitFor(() => expect(heard).toEqual([{ reread: true }, { text: 'x'.repeat(7000) }]), 50_000)
    await close()
  })

  test('after a lost connection listeners reread, and events arrive again', async (context) => {
    if (kind === 'sqlite') context.skip('within one process there is no connection')
    const { here, there, close, database } = await pair()
    const heard: object[] = []
    there.subscribe('build', (event) => heard.push(event))
    await database.db.executeQuery(terminateListeners)
    await vi.waitFor(() => expect(heard.some(isReread)).toBe(true), 50_000)
    here.publish('build', { back: true })
    await vi.waitFor(() => expect(heard).toContainEqual({ back: true }), 50_000)
    await close()
  })
})

const terminateListeners = CompiledQuery.raw(
  "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and query ilike 'listen%'",
)

test('signals in memory are delivered before publish returns', () => {
  const signals = memorySignals()
  let heard = 0
  signals.subscribe('build', () => heard++)
  signals.publish('build', {})
  expect(heard).toBe(1)
})
