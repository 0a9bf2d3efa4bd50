/** When an instance that ended by itself is started again. The words are Docker's. */
export interface RestartPolicy {
  name: 'no' | 'always' | 'on-failure'
  /** Of `on-failure`; null or absent: without limit. */
  maxRetries?: number | null
}

export const isRestarted = ({ name, maxRetries }: RestartPolicy, exitCode: number | null, restarts: number): boolean =>
  name === 'always' || (name === 'on-failure' && exitCode !== 0 && (maxRetries == null || restarts < maxRetries))
