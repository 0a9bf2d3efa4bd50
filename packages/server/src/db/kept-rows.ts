/**
 * For what is made of a row alone. A frozen row is one that the read cache keeps and hands out again, so what was made of it
 * is still right the next time; any other row is seen once.
 */
export function madeOf<Row extends object, Made>(make: (row: Row) => Made): (row: Row) => Made {
  const known = new WeakMap<Row, Made>()
  return (row) => {
    if (!Object.isFrozen(row)) return make(row)
    const before = known.get(row)
    if (before !== undefined) return before
    const made = make(row)
    known.set(row, made)
    return made
  }
}
