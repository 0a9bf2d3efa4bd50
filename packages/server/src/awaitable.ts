/** Here at once, or later. `await` takes both; what is here at once costs no turn of the microtask queue on the way. */
export type Awaitable<T> = T | Promise<T>
