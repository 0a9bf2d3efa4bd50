/**
 * Joins work of the same id that is under way instead of starting it again: a request and its fallback job must not run at the
 * same time in one process.
 */
export function onceAtATime() {
  const underWay = new Map<string, Promise<void>>()
  return (id: string, work: () => Promise<void>): Promise<void> => {
    const running = underWay.get(id) ?? work().finally(() => underWay.delete(id))
    underWay.set(id, running)
    return running
  }
}
