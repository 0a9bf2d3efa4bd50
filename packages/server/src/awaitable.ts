/** Here at once, or later. `await` takes both. */
export type Awaitable<T> = T | Promise<T>

/** `await` for a function that is called for every request: what is here at once is passed on at once. */
export function after<T, Result>(value: Awaitable<T>, then: (value: T) => Awaitable<Result>): Awaitable<Result> {
  return value instanceof Promise ? value.then(then) : then(value)
}
