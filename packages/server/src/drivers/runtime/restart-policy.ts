/** When the runtime restarts an instance that ended by itself. The names are Docker's. */
export interface RestartPolicy {
  name: 'no' | 'always' | 'on-failure'
  /** Limit of `on-failure`. Null or absent: unlimited. */
  maxRetries?: number | null
}

export const shouldRestart = ({ name, maxRetries }: RestartPolicy, exitCode: number | null, restarts: number): boolean =>
  name === 'always' || (name === 'on-failure' && exitCode !== 0 && (maxRetries == null || restarts < maxRetries))
