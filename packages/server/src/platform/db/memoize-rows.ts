/**
 * Memoizes a function of cached (frozen) rows; its results are frozen too, so memoized functions can be chained. Unfrozen inputs
 * are recomputed.
 */
export function memoizeByRows<Inputs extends [object, ...object[]], Result extends object>(
  compute: (...inputs: Inputs) => Result,
): (...inputs: Inputs) => Result {
  const cache = new WeakMap<object, { inputs: Inputs; result: Result }>()
  return (...inputs) => {
    const last = cache.get(inputs[0])
    if (last && isSame(last.inputs, inputs)) return last.result
    if (!inputs.every(Object.isFrozen)) return compute(...inputs)
    const result = Object.freeze(compute(...inputs))
    cache.set(inputs[0], { inputs, result })
    return result
  }
}

function isSame(left: readonly object[], right: readonly object[]): boolean {
  for (let at = 0; at < left.length; at++) if (left[at] !== right[at]) return false
  return true
}
