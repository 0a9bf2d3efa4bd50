import { callEngineOrMissing, type Engine } from '../engine.ts'

/** Bytes written by a build of the classic builder: its new layers and the running step. Parsed from the builder's output. */
export class ClassicLayers {
  readonly #engine: Engine
  /** Images that the build created, each with its parent. */
  readonly #createdImages: { id: string; parent: string | undefined }[] = []
  readonly #sizes = new Map<string, number>()
  #runningContainer: string | undefined
  #lastImage: string | undefined
  #isExistingImage = false

  constructor(engine: Engine) {
    this.#engine = engine
  }

  readLine(line: string): void {
    if (/^Step \d+\/\d+ : FROM\b/i.test(line)) this.#isExistingImage = true
    else if (/^Step \d/.test(line)) this.#isExistingImage = false
    if (line === ' ---> Using cache') this.#isExistingImage = true
    const running = /^ ---> Running in ([0-9a-f]{12})/.exec(line)?.[1]
    if (running) this.#runningContainer = running
    const image = /^ ---> ([0-9a-f]{12})$/.exec(line)?.[1]
    if (!image) return
    if (!this.#isExistingImage) this.#createdImages.push({ id: image, parent: this.#lastImage })
    this.#lastImage = image
    this.#runningContainer = undefined
  }

  async writtenBytes(): Promise<number> {
    let sum = await this.#stepBytes()
    for (const { id, parent } of this.#createdImages)
      sum += Math.max(0, (await this.#sizeOf(id)) - (parent ? await this.#sizeOf(parent) : 0))
    return sum
  }

  async #stepBytes(): Promise<number> {
    const container = this.#runningContainer
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
