/** Here at once, or later. `await` takes both. */
export type Awaitable<T> = T | Promise<T>

/** `await` for a function that is called for every request: what is here at once is passed on at once. */
export function after<T, Result>(value: Awaitable<T>, then: (value: T) => Awaitable<Result>): Awaitable<Result> {
  return value instanceof Promise ? value.then(then) : then(value)
}

/** `Promise.all`, unless all of them are here already. */
export function together<Values extends readonly unknown[]>(
  ...values: Values
): Awaitable<{ -readonly [At in keyof Values]: Awaited<Values[At]> }> {
  type Settled = { -readonly [At in keyof Values]: Awaited<Values[At]> }
  return values.some((value) => value instanceof Promise)
    ? (Promise.all(values) as Promise<Settled>)
    : (values as never as Settled)
}
