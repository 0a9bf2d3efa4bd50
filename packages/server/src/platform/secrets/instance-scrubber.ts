import { createScrubber, type Scrubber } from './scrubber.ts'
import type { Secret } from './secret.ts'

/**
 * The scrubber of the instance's own log, which its operator reads. The instance's own secrets are always hidden. Secrets that it
 * decrypts for users are hidden too, within limits, and never displace the instance's own.
 */
export function createInstanceScrubber(instanceSecrets: readonly Secret[]): Scrubber {
  const instanceScrubber = createScrubber({ maxValues: Number.POSITIVE_INFINITY, maxCharacters: Number.POSITIVE_INFINITY })
  instanceScrubber.register(...instanceSecrets)
  const userScrubber = createScrubber()
  return {
    register: userScrubber.register,
    scrub: (text) => userScrubber.scrub(instanceScrubber.scrub(text)),
    scrubJson: (line) => userScrubber.scrubJson(instanceScrubber.scrubJson(line)),
  }
}
