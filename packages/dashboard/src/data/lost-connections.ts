import { useSyncExternalStore } from 'react'

const lost = new Set<symbol>()
const listeners = new Set<() => void>()

/** The live connections that are currently lost; the shell shows a notice. */
export const lostConnections = {
  set(name: symbol, isLost: boolean) {
    if (lost.has(name) === isLost) return
    if (isLost) lost.add(name)
    else lost.delete(name)
    for (const listener of listeners) listener()
  },
}

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

export const useHasLostConnection = () => useSyncExternalStore(subscribe, () => lost.size > 0)
