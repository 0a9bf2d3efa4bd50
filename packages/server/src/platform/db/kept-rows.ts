/**
 * Memoizes a function of cached (frozen) rows; its results are frozen too, so memoized functions can be chained. Unfrozen inputs
 * are recomputed.
 */
export function memoizeByRows<Inputs extends [object, ...object[]], Made extends object>(
  make: (...inputs: Inputs) => Made,
): (...inputs: Inputs) => Made {
  const known = new WeakMap<object, { inputs: Inputs; made: Made }>()
  return (...inputs) => {
    const last = known.get(inputs[0])
    if (last && isSame(last.inputs, inputs)) return last.made
    if (!inputs.every(Object.isFrozen)) return make(...inputs)
    const made = Object.freeze(make(...inputs))
    known.set(inputs[0], { inputs, made })
    return made
  }
}

function isSame(left: readonly object[], right: readonly object[]): boolean {
  for (let at = 0; at < left.length; at++) if (left[at] !== right[at]) return false
  return true
}
