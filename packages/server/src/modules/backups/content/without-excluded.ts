import { setImmediate as yieldToOthers } from 'node:timers/promises'
import { rewriteTar } from '../../../drivers/tar/rewrite-tar.ts'
import { asText } from '../../../drivers/tar/tar-header.ts'
import { IgnoreRules } from '../../../source/ignore/git-ignore.ts'

/** Compared characters of a path, as many as Linux allows; a longer path is excluded only by a folder within them. */
const comparedCharacters = 4096

/** Longest time of matching before other work of the event loop gets a turn. */
const sliceMs = 2
/** Longest time of matching for one archive. */
const maxTotalMs = 5 * 60_000

/** The tar without excluded entries, by the rules of .gitignore; an excluded folder is left out with its content. */
export function withoutExcluded(
  tar: AsyncIterable<Uint8Array>,
  patterns: readonly string[],
  maxMs = maxTotalMs,
): AsyncIterable<Uint8Array> {
  if (patterns.length === 0) return tar
  const rules = IgnoreRules.none.with(patterns.join('\n'), '')
  const timeLimit = new MatchingTimeLimit(maxMs)
  return rewriteTar(tar, async (header) => {
    timeLimit.begin()
    return (await isExcludedEntry(asText(header.name), header.type === 'directory', rules, timeLimit)) ? null : header
  })
}

class MatchingTimeLimit {
  #leftMs: number
  #since = 0

  constructor(maxMs: number) {
    this.#leftMs = maxMs
  }

  begin(): void {
    this.#since = performance.now()
  }

  async pause(): Promise<void> {
    const elapsedMs = performance.now() - this.#since
    if (elapsedMs < sliceMs) return
    this.#leftMs -= elapsedMs
    if (this.#leftMs < 0)
      throw new Error('The exclude patterns take too long to compare with the files. Use fewer or shorter patterns.')
    await yieldToOthers()
    this.begin()
  }
}

/** An entry is also excluded when a folder above it is, whether or not the archive names that folder. */
async function isExcludedEntry(name: string, isFolder: boolean, rules: IgnoreRules, timeLimit: MatchingTimeLimit) {
  const parts = name.split('/').filter((part) => part !== '' && part !== '.')
  const path = parts.join('/')
  const isComplete = path.length <= comparedCharacters
  const compared = isComplete ? path : path.slice(0, Math.max(0, path.lastIndexOf('/', comparedCharacters)))
  const matching = rules.isExcluded(compared, isFolder || !isComplete)
  for (let step = matching.next(); ; step = matching.next()) {
    if (step.done) return step.value
    await timeLimit.pause()
  }
}
