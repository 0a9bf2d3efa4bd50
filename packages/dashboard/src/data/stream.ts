import { type AnyRoute, contract } from '@berth/contract'
import { ApiError, type StreamEventOf, type StreamInput } from '@berth/contract/client'
import { useEffect, useRef, useState } from 'react'
import { stream } from './client.ts'
import { lostConnections } from './lost-connections.ts'
import { queries } from './query-client.ts'
import { keyOf } from './query-key.ts'

export type StreamState = 'connecting' | 'open' | 'lost' | 'ended' | 'refused'

interface Options<T extends AnyRoute> {
  isEnabled?: boolean
  onEvent(event: StreamEventOf<T>): void
  /** The last event of the stream. */
  endsWith?: string
  /** Disconnects while the tab is hidden: browsers allow few connections to one server. */
  pausesWhenHidden?: boolean
}

const maxPauseMs = 15_000
const assumeOpenAfterMs = 1500

/** Reads the server-sent events of a route. After a lost connection it reconnects and continues after the last event. */
export function useStream<T extends AnyRoute>(route: T, input: StreamInput<T>, options: Options<T>): StreamState {
  const { isEnabled = true, pausesWhenHidden = false } = options
  const [state, setState] = useState<StreamState>('connecting')
  const latest = useRef(options)
  latest.current = options
  const key = JSON.stringify(input)
  const isVisible = useVisibility(pausesWhenHidden)
  useEffect(() => {
    if (!isEnabled || !isVisible) return
    const abort = new AbortController()
    const name = Symbol(route.at)
    const changeState = (next: StreamState) => {
      if (abort.signal.aborted) return
      lostConnections.set(name, next === 'lost')
      setState(next)
    }
    void readEvents(route, JSON.parse(key), abort.signal, changeState, latest)
    return () => {
      lostConnections.set(name, false)
      abort.abort()
    }
  }, [route, key, isEnabled, isVisible])
  return state
}

async function readEvents<T extends AnyRoute>(
  route: T,
  input: StreamInput<T>,
  abort: AbortSignal,
  changeState: (state: StreamState) => void,
  latest: { current: Options<T> },
): Promise<void> {
  let lastEventId: string | undefined
  for (let failures = 0; !abort.aborted; failures++) {
    // A stream may send no event for a long time: if it is not refused by then, it is open.
    const openTimer = setTimeout(() => changeState('open'), assumeOpenAfterMs)
    try {
      for await (const event of stream(route as AnyRoute, { ...input, abort, lastEventId })) {
        changeState('open')
        failures = 0
        lastEventId = event.id ?? lastEventId
        if (abort.aborted) return
        latest.current.onEvent(event as StreamEventOf<T>)
        if (event.event === 'closed') return handleRefusal(changeState)
        if (event.event === latest.current.endsWith) return changeState('ended')
      }
    } catch (error) {
      if (abort.aborted) return
      if (error instanceof ApiError && error.status < 500 && error.status !== 429) return handleRefusal(changeState)
      changeState('lost')
    } finally {
      clearTimeout(openTimer)
    }
    await pause(Math.min(maxPauseMs, 500 * 2 ** failures), abort)
  }
}

/** The user lost access while the stream was open: reads the session again, which may have ended. */
function handleRefusal(changeState: (state: StreamState) => void) {
  changeState('refused')
  void queries.invalidateQueries({ queryKey: keyOf(contract.access.session) })
}

const pause = (ms: number, abort: AbortSignal) =>
  new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms)
    const stop = () => {
      clearTimeout(timer)
      resolve()
    }
    abort.addEventListener('abort', stop, { once: true })
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
