/**
 * Returns a function that runs work by id. A call for an id whose work is still running returns the running promise: a request
 * and its fallback job must not run at the same time in one process.
 */
export function createJoiningRunner() {
  const underWay = new Map<string, Promise<void>>()
  return (id: string, work: () => Promise<void>): Promise<void> => {
    const running = underWay.get(id) ?? work().finally(() => underWay.delete(id))
    underWay.set(id, running)
    return running
  }
}
