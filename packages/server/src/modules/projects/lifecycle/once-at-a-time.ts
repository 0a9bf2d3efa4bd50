/**
 * Work of one id that is under way is joined, not begun again: the request and the job that catches it must not both be at it
 * in one process.
 */
export function onceAtATime() {
  const underWay = new Map<string, Promise<void>>()
  return (id: string, work: () => Promise<void>): Promise<void> => {
    const running = underWay.get(id) ?? work().finally(() => underWay.delete(id))
    underWay.set(id, running)
    return running
  }
}
