/** Limits for waiting on another system. */
export interface StallLimits {
  /** Silence after which the other system is checked. */
  silenceMs: number
  /** Maximum wait, even if it is alive. */
  maxMs: number
  /** Whether the request currently waits for the caller's own body. */
  waitsForCaller(): boolean
  isAlive(): Promise<boolean>
  giveUp(): void
}

/**
 * Watches a silent peer: checks on another connection whether it is alive. If it is, waiting continues; if not, `giveUp` is
 * called. Returns the function that stops the watch.
 */
export function watchForStall({ silenceMs, maxMs, waitsForCaller, isAlive, giveUp }: StallLimits): () => void {
  const since = performance.now()
  let isStopped = false
  let timer = setTimeout(check, silenceMs)
  async function check(): Promise<void> {
    const keepsWaiting = waitsForCaller() || (performance.now() - since < maxMs && (await isAlive()))
    if (isStopped) return
    if (keepsWaiting) timer = setTimeout(check, silenceMs)
    else giveUp()
  }
  return () => {
    isStopped = true
    clearTimeout(timer)
  }
}
