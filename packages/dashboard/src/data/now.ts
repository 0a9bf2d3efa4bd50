import { useSyncExternalStore } from 'react'

const tickMs = 5000
let now = Date.now()
let timer: ReturnType<typeof setInterval> | undefined
const listeners = new Set<() => void>()

function subscribe(listener: () => void) {
  listeners.add(listener)
  timer ??= setInterval(() => {
    if (document.visibilityState === 'hidden') return
    now = Date.now()
    for (const one of listeners) one()
  }, tickMs)
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}

/** The time in steps of five seconds, one clock for the page. */
export const useNow = () => useSyncExternalStore(subscribe, () => now)
