import { callEngineOrMissing, type Engine } from '../engine.ts'

/** Bytes written by a build of the classic builder: its new layers and the running step. Parsed from the builder's output. */
export class ClassicLayers {
  readonly #engine: Engine
  /** Images that the build created, each with its parent. */
  readonly #made: { id: string; from: string | undefined }[] = []
  readonly #sizes = new Map<string, number>()
  #running: string | undefined
  #last: string | undefined
  #isFound = false

  constructor(engine: Engine) {
    this.#engine = engine
  }

  take(line: string): void {
    if (/^Step \d+\/\d+ : FROM\b/i.test(line)) this.#isFound = true
    else if (/^Step \d/.test(line)) this.#isFound = false
    if (line === ' ---> Using cache') this.#isFound = true
    const running = /^ ---> Running in ([0-9a-f]{12})/.exec(line)?.[1]
    if (running) this.#running = running
    const image = /^ ---> ([0-9a-f]{12})$/.exec(line)?.[1]
    if (!image) return
    if (!this.#isFound) this.#made.push({ id: image, from: this.#last })
    this.#last = image
    this.#running = undefined
  }

  async bytes(): Promise<number> {
    let sum = await this.#stepBytes()
    for (const { id, from } of this.#made) sum += Math.max(0, (await this.#sizeOf(id)) - (from ? await this.#sizeOf(from) : 0))
    return sum
  }

  async #stepBytes(): Promise<number> {
    const container = this.#running
    if (!container) return 0
    const found = await callEngineOrMissing((abortSignal) =>
      this.#engine.getContainer(container).inspect({ size: true, abortSignal } as object),
    )
    return (found as { SizeRw?: number } | undefined)?.SizeRw ?? 0
  }

  async #sizeOf(image: string): Promise<number> {
    const known = this.#sizes.get(image)
    if (known !== undefined) return known
    const size = (await callEngineOrMissing(() => this.#engine.getImage(image).inspect()))?.Size ?? 0
    this.#sizes.set(image, size)
    return size
  }
}
