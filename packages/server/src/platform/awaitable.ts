/** A value, or a promise of it. */
export type Awaitable<T> = T | Promise<T>

/** Equivalent of `await` for a function that is called for every request: a value that is no promise is passed on synchronously. */
export function thenSync<T, Result>(value: Awaitable<T>, then: (value: T) => Awaitable<Result>): Awaitable<Result> {
  return value instanceof Promise ? value.then(then) : then(value)
}

/** Equivalent of `Promise.all`, synchronous when none of the values is a promise. */
export function allSync<Values extends readonly unknown[]>(
  ...values: Values
): Awaitable<{ -readonly [At in keyof Values]: Awaited<Values[At]> }> {
  type Settled = { -readonly [At in keyof Values]: Awaited<Values[At]> }
  return values.some((value) => value instanceof Promise)
    ? (Promise.all(values) as Promise<Settled>)
    : (values as never as Settled)
}
