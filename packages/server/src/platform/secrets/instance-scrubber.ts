import { createScrubber, type Scrubber } from './scrubber.ts'
import type { Secret } from './secret.ts'

/**
 * The scrubber of the instance's own log, which its operator reads. The instance's own secrets are always hidden. Secrets that it
 * decrypts for users are hidden too, within limits, and never displace the instance's own.
 */
export function createInstanceScrubber(own: readonly Secret[]): Scrubber {
  const always = createScrubber({ maxValues: Number.POSITIVE_INFINITY, maxCharacters: Number.POSITIVE_INFINITY })
  always.register(...own)
  const opened = createScrubber()
  return {
    register: opened.register,
    scrub: (text) => opened.scrub(always.scrub(text)),
    scrubJson: (line) => opened.scrubJson(always.scrubJson(line)),
  }
}
