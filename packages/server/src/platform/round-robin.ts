/** Round-robin over owners: the first item of each owner, then the second of each, so that no owner waits for all items of another. */
export function roundRobin<Item>(items: Iterable<Item>, ownerOf: (item: Item) => string): Item[] {
  const queues = [...Map.groupBy(items, ownerOf).values()]
  const longest = Math.max(0, ...queues.map(({ length }) => length))
  return Array.from({ length: longest }, (_, at) => queues.flatMap((queue) => queue.slice(at, at + 1))).flat()
}
