import { rewriteTar } from '../../../drivers/tar/rewrite-tar.ts'
import { asText } from '../../../drivers/tar/tar-header.ts'
import { Throttle } from '../../../platform/throttle.ts'
import { IgnoreRules } from '../../../source/ignore/git-ignore.ts'

/** Compared characters of a path, as many as Linux allows; a longer path is excluded only by a folder within them. */
const comparedCharacters = 4096

/** Time of matching without a pause, and in total for one archive. */
const sliceMs = 2
const maxTotalMs = 5 * 60_000

/** The tar without excluded entries, by the rules of .gitignore; an excluded folder is left out with its content. */
export function withoutExcluded(
  tar: AsyncIterable<Uint8Array>,
  patterns: readonly string[],
  maxMs = maxTotalMs,
): AsyncIterable<Uint8Array> {
  if (patterns.length === 0) return tar
  const rules = IgnoreRules.none.with(patterns.join('\n'), '')
  const time = new ComparingTime(maxMs)
  return rewriteTar(tar, async (header) => {
    time.begin()
    return (await isOut(asText(header.name), header.type === 'directory', rules, time)) ? null : header
  })
}

class ComparingTime {
  readonly #share = new Throttle()
  #leftMs: number
  #since = 0

  constructor(maxMs: number) {
    this.#leftMs = maxMs
  }

  begin(): void {
    this.#since = performance.now()
  }

  async pause(): Promise<void> {
    const tookMs = performance.now() - this.#since
    if (tookMs < sliceMs) return
    this.#leftMs -= tookMs
    if (this.#leftMs < 0)
      throw new Error('The exclude patterns take too long to compare with the files. Use fewer or shorter patterns.')
    await this.#share.next()
    this.begin()
  }
}

/** An entry is also excluded when a folder above it is, whether or not the archive names that folder. */
async function isOut(name: string, isFolder: boolean, rules: IgnoreRules, time: ComparingTime) {
  const parts = name.split('/').filter((part) => part !== '' && part !== '.')
  const path = parts.join('/')
  const isWhole = path.length <= comparedCharacters
  const compared = isWhole ? path : path.slice(0, Math.max(0, path.lastIndexOf('/', comparedCharacters)))
  const verdict = rules.isExcluded(compared, isFolder || !isWhole)
  for (let step = verdict.next(); ; step = verdict.next()) {
    if (step.done) return step.value
    await time.pause()
  }
}
