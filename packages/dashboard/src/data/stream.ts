import { type AnyRoute, contract } from '@berth/contract'
import { ApiError, type StreamEventOf, type StreamInput } from '@berth/contract/client'
import { useEffect, useRef, useState } from 'react'
import { stream } from '../client.ts'
import { lostConnections } from './lost-connections.ts'
import { queries } from './query-client.ts'
import { keyOf } from './query-key.ts'

export type StreamState = 'connecting' | 'open' | 'lost' | 'ended' | 'refused'

interface Options<T extends AnyRoute> {
  isWanted?: boolean
  onEvent(event: StreamEventOf<T>): void
  /** The event after which nothing more comes. */
  endsWith?: string
  /** Closed while the tab is hidden: browsers allow few connections to one server. */
  pausesHidden?: boolean
}

const maxPauseMs = 15_000
const quietMs = 1500

/** Server-sent events of one row, connected again by itself from where it broke off. */
export function useStream<T extends AnyRoute>(row: T, input: StreamInput<T>, options: Options<T>): StreamState {
  const { isWanted = true, pausesHidden = false } = options
  const [state, setState] = useState<StreamState>('connecting')
  const latest = useRef(options)
  latest.current = options
  const key = JSON.stringify(input)
  const isVisible = useVisibility(pausesHidden)
  useEffect(() => {
    if (!isWanted || !isVisible) return
    const abort = new AbortController()
    const name = Symbol(row.at)
    const move = (next: StreamState) => {
      if (abort.signal.aborted) return
      lostConnections.set(name, next === 'lost')
      setState(next)
    }
    void follow(row, JSON.parse(key), abort.signal, move, latest)
    return () => {
      lostConnections.set(name, false)
      abort.abort()
    }
  }, [row, key, isWanted, isVisible])
  return state
}

async function follow<T extends AnyRoute>(
  row: T,
  input: StreamInput<T>,
  abort: AbortSignal,
  move: (state: StreamState) => void,
  latest: { current: Options<T> },
): Promise<void> {
  let lastEventId: string | undefined
  for (let failures = 0; !abort.aborted; failures++) {
    // A stream may have nothing to say: who was not refused by then is connected.
    const connected = setTimeout(() => move('open'), quietMs)
    try {
      for await (const event of stream(row as AnyRoute, { ...input, abort, lastEventId })) {
        move('open')
        failures = 0
        lastEventId = event.id ?? lastEventId
        if (abort.aborted) return
        latest.current.onEvent(event as StreamEventOf<T>)
        if (event.event === 'closed') return refused(move)
        if (event.event === latest.current.endsWith) return move('ended')
      }
    } catch (error) {
      if (abort.aborted) return
      if (error instanceof ApiError && error.status < 500 && error.status !== 429) return refused(move)
      move('lost')
    } finally {
      clearTimeout(connected)
    }
    await pause(Math.min(maxPauseMs, 500 * 2 ** failures), abort)
  }
}

/** Access has changed while looking on: whether there is still a session is asked anew. */
function refused(move: (state: StreamState) => void) {
  move('refused')
  void queries.invalidateQueries({ queryKey: keyOf(contract.access.session) })
}

const pause = (ms: number, abort: AbortSignal) =>
  new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms)
    const end = () => {
      clearTimeout(timer)
      resolve()
    }
    abort.addEventListener('abort', end, { once: true })
  })

function useVisibility(isWatched: boolean): boolean {
  const [isVisible, setVisible] = useState(document.visibilityState === 'visible')
  useEffect(() => {
    const check = () => setVisible(document.visibilityState === 'visible')
    document.addEventListener('visibilitychange', check)
    return () => document.removeEventListener('visibilitychange', check)
  }, [])
  return !isWatched || isVisible
}
