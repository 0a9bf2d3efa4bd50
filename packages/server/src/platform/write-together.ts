/**
 * A commit waits for the disk, and what has to be written comes in bursts: whatever comes while one write is under way goes into
 * the next one together, in the order in which it came. `write` answers each of its items, in their order.
 */
export function writeTogether<Item, Result>(
  max: number,
  write: (items: readonly Item[]) => Promise<readonly Result[]>,
): (item: Item) => Promise<Result> {
  const waiting: { item: Item; told: PromiseWithResolvers<Result> }[] = []
  let isUnderWay = false
  const writeSome = async (some: typeof waiting) => {
    try {
      const results = await write(some.map(({ item }) => item))
      for (const [at, { told: reported }] of some.entries()) reported.resolve(results[at] as Result)
    } catch (error) {
      // One that cannot be written is in no other one's way.
      if (some.length === 1) some[0]!.told.reject(error)
      else for (const one of some) await writeSome([one])
    }
  }
  const work = async () => {
    isUnderWay = true
    while (waiting.length > 0) await writeSome(waiting.splice(0, max))
    isUnderWay = false
  }
  return (item) => {
    const reported = Promise.withResolvers<Result>()
    waiting.push({ item, told: reported })
    if (!isUnderWay) void work()
    return reported.promise
  }
}
