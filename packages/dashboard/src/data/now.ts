import { useEffect, useState, useSyncExternalStore } from 'react'

const tickMs = 5000
let now = Date.now()
let timer: ReturnType<typeof setInterval> | undefined
const listeners = new Set<() => void>()

function tick() {
  if (document.visibilityState === 'hidden') return
  now = Date.now()
  for (const notify of listeners) notify()
}

function subscribe(listener: () => void) {
  listeners.add(listener)
  if (!timer) {
    // The time is not updated while there are no listeners: the stored one may be minutes old.
    now = Date.now()
    timer = setInterval(tick, tickMs)
    document.addEventListener('visibilitychange', tick)
  }
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    clearInterval(timer)
    timer = undefined
    document.removeEventListener('visibilitychange', tick)
  }
}

/** The current time, updated every five seconds. All components share one timer. */
export const useNow = () => useSyncExternalStore(subscribe, () => now)

/** The current time, updated every second while `isRunning`: the clock of a running deployment. */
export function useClock(isRunning: boolean): number {
  const [time, setTime] = useState(Date.now)
  useEffect(() => {
    if (!isRunning) return
    const second = setInterval(() => document.visibilityState !== 'hidden' && setTime(Date.now()), 1000)
    return () => clearInterval(second)
  }, [isRunning])
  return time
}
