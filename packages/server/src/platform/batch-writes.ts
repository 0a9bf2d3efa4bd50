/**
 * Batches writes, because each commit waits for the disk: items that arrive during a write are written together by the next one,
 * in their order. `write` returns a result per item, in the same order.
 */
export function batchWrites<Item, Result>(
  max: number,
  write: (items: readonly Item[]) => Promise<readonly Result[]>,
): (item: Item) => Promise<Result> {
  const waiting: { item: Item; result: PromiseWithResolvers<Result> }[] = []
  let isWriting = false
  const writeBatch = async (batch: typeof waiting) => {
    try {
      const results = await write(batch.map(({ item }) => item))
      for (const [at, { result }] of batch.entries()) result.resolve(results[at] as Result)
    } catch (error) {
      // An item that cannot be written must not block the others.
      if (batch.length === 1) batch[0]!.result.reject(error)
      else for (const one of batch) await writeBatch([one])
    }
  }
  const work = async () => {
    isWriting = true
    while (waiting.length > 0) await writeBatch(waiting.splice(0, max))
    isWriting = false
  }
  return (item) => {
    const result = Promise.withResolvers<Result>()
    waiting.push({ item, result })
    if (!isWriting) void work()
    return result.promise
  }
}
