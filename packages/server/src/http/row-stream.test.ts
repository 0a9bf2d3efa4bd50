import { describe, expect, test } from 'vitest'
import { memorySignals } from '../platform/signals/memory.ts'
import type { EventStream } from './handler.ts'
import { type RowEvents, type RowSignal, streamRow } from './row-stream.ts'

interface Run {
  status: string
  at: string
}
const at = (second: number) => new Date(second * 1_000).toISOString()

/** Opens a stream of one row; returns its events and functions that change the row. */
function open(start: Run, { takesFrames = async () => {} }: { takesFrames?: () => Promise<void> } = {}) {
  const signals = memorySignals()
  const gone = new AbortController()
  const events: { event: string; data: unknown }[] = []
  let row = start
  let subscribers = 0
  const counted = {
    ...signals,
    subscribe: ((topic, listener) => {
      subscribers++
      const unsubscribe = signals.subscribe(topic, listener)
      return () => {
        subscribers--
        unsubscribe()
      }
    }) as typeof signals.subscribe,
  }
  const stream: EventStream<RowEvents<Run, Run>> = {
    lastEventId: null,
    abort: gone.signal,
    async send(event, data) {
      events.push({ event, data })
      await takesFrames()
    },
  }
  const publish = (signal: RowSignal) => signals.publish('run:1', signal)
  const ended = streamRow(stream, counted, {
    topic: 'run:1',
    read: async () => row,
    show: ({ status, at }) => ({ status, at }),
    stateOf: (run) => run,
    isTerminal: ({ status }) => status === 'succeeded',
  })
  return {
    events,
    ended,
    gone,
    publish,
    signals,
    subscribers: () => subscribers,
    kinds: () => events.map(({ event }) => event),
    statuses: () => events.filter(({ event }) => event === 'transition').map(({ data }) => (data as Run).status),
    write: (status: string, second: number) => {
      row = { status, at: at(second) }
    },
    move(status: string, second: number) {
      row = { status, at: at(second) }
      publish({ transition: row })
    },
    progress: (bytesDone: number) => publish({ progress: { bytesDone, bytesTotal: 100, bytesPerSecond: 1 } }),
  }
}

describe('the stream of a row', () => {
  test('sends a snapshot, then transition and progress events, and ends after complete', async () => {
    const run = open({ status: 'queued', at: at(1) })
    await expect.poll(run.kinds).toEqual(['snapshot'])
    run.move('running', 2)
    await expect.poll(run.kinds).toHaveLength(2)
    run.progress(50)
    await expect.poll(run.kinds).toHaveLength(3)
    run.move('succeeded', 3)
    await run.ended
    expect(run.events).toEqual([
      { event: 'snapshot', data: { status: 'queued', at: at(1) } },
      { event: 'transition', data: { status: 'running', at: at(2) } },
      { event: 'progress', data: { bytesDone: 50, bytesTotal: 100, bytesPerSecond: 1 } },
      { event: 'transition', data: { status: 'succeeded', at: at(3) } },
      { event: 'complete', data: { status: 'succeeded', at: at(3) } },
    ])
    expect(run.subscribers()).toBe(0)
  })

  test('a stream of a terminal row ends at once', async () => {
    const run = open({ status: 'succeeded', at: at(1) })
    await run.ended
    expect(run.kinds()).toEqual(['snapshot', 'complete'])
  })

  test('a transition whose signal was lost is read from the row, before complete', async () => {
    const run = open({ status: 'queued', at: at(1) })
    await expect.poll(run.kinds).toEqual(['snapshot'])
    run.write('succeeded', 2)
    run.signals.publish('run:1', { reread: true })
    await run.ended
    expect(run.kinds()).toEqual(['snapshot', 'transition', 'complete'])
  })

  test('a transition is reported once, and never after a newer one', async () => {
    const run = open({ status: 'running', at: at(2) })
    run.publish({ transition: { status: 'running', at: at(2) } })
    run.publish({ transition: { status: 'queued', at: at(1) } })
    await expect.poll(run.kinds).toEqual(['snapshot'])
    run.move('finishing', 3)
    run.publish({ transition: { status: 'finishing', at: at(3) } })
    run.move('succeeded', 4)
    await run.ended
    expect(run.statuses()).toEqual(['finishing', 'succeeded'])
  })

  test('a slow reader gets the newest progress and every transition', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const run = open({ status: 'running', at: at(1) }, { takesFrames: () => promise })
    await expect.poll(run.kinds).toEqual(['snapshot'])
    for (let done = 1; done <= 50; done++) run.progress(done)
    run.move('finishing', 2)
    run.move('succeeded', 3)
    resolve()
    await run.ended
    expect(run.kinds()).toEqual(['snapshot', 'progress', 'transition', 'transition', 'complete'])
    expect(run.events[1]?.data).toMatchObject({ bytesDone: 50 })
  })

  test('signals that arrive faster than they are processed are one read of the row', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const run = open({ status: 'running', at: at(1) }, { takesFrames: () => promise })
    await expect.poll(run.kinds).toEqual(['snapshot'])
    for (let done = 1; done <= 1_000; done++) run.progress(done)
    run.move('succeeded', 3)
    resolve()
    await run.ended
    expect(run.kinds()).toEqual(['snapshot', 'transition', 'complete'])
  })

  test('a reader that disconnects is unsubscribed', async () => {
    const run = open({ status: 'running', at: at(1) })
    await expect.poll(run.kinds).toEqual(['snapshot'])
    expect(run.subscribers()).toBe(1)
    run.gone.abort(new Error('the reader disconnected'))
    await expect(run.ended).rejects.toThrow('the reader disconnected')
    expect(run.subscribers()).toBe(0)
  })
})
