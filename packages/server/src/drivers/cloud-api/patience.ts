/** How long somebody is waited for. */
export interface Patience {
  /** Before we ask whether they are there at all. */
  patienceMs: number
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
export function waitPatiently({ patienceMs, longestMs, waitsForCaller, isAlive, giveUp }: Patience): () => void {
  const since = performance.now()
  let isOver = false
  let timer = setTimeout(look, patienceMs)
  async function look(): Promise<void> {
    const goesOn = waitsForCaller() || (performance.now() - since < longestMs && (await isAlive()))
    if (isOver) return
    if (goesOn) timer = setTimeout(look, patienceMs)
    else giveUp()
  }
  return () => {
    isOver = true
    clearTimeout(timer)
  }
}
