type Method = (...args: never[]) => unknown
export type MethodNames<Driver> = { [Key in keyof Driver]: Driver[Key] extends Method ? Key : never }[keyof Driver]

/** Replaces a call: gets the driver's own method, bound, and the arguments. */
export type Wrapper = (call: (...args: unknown[]) => unknown, args: unknown[], method: string) => unknown

/** Returns the driver, of the same class, with the named methods wrapped. */
export function wrapMethods<Driver extends object>(
  driver: Driver,
  names: readonly MethodNames<Driver>[],
  wrapper: Wrapper,
): Driver {
  const wrapped = new Map<PropertyKey, unknown>()
  for (const name of names) {
    const call = (...args: unknown[]) => (driver[name] as (...given: unknown[]) => unknown).apply(driver, args)
    wrapped.set(name, (...args: unknown[]) => wrapper(call, args, String(name)))
  }
  return new Proxy(driver, {
    get(target, key) {
      if (wrapped.has(key)) return wrapped.get(key)
      const value = Reflect.get(target, key, target)
      // Bound: methods reach private fields, which only the driver itself has.
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
