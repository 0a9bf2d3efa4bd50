/** How long somebody is waited for. */
export interface StallLimits {
  /** Before we ask whether they are there at all. */
  silenceMs: number
  /** However alive they are. */
  longestMs: number
  /** What we wait for is the caller's own body. */
  waitsForCaller(): boolean
  isAlive(): Promise<boolean>
  giveUp(): void
}

/**
 * One who is silent is asked, on another connection, whether they are there: who answers that is at work and is waited for,
 * who does not is away. Gives what ends the waiting.
 */
export function watchForStall({ silenceMs, longestMs, waitsForCaller, isAlive, giveUp }: StallLimits): () => void {
  const since = performance.now()
  let isOver = false
  let timer = setTimeout(look, silenceMs)
  async function look(): Promise<void> {
    const goesOn = waitsForCaller() || (performance.now() - since < longestMs && (await isAlive()))
    if (isOver) return
    if (goesOn) timer = setTimeout(look, silenceMs)
    else giveUp()
  }
  return () => {
    isOver = true
    clearTimeout(timer)
  }
}
