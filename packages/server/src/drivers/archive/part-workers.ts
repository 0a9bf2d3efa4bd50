import { Threads } from '../../platform/threads.ts'
import { InvalidAgeFile } from './age-header.ts'
import type { PartResult, PartTask } from './part-work.ts'

/** Worker threads that process parts. */
export class PartWorkers {
  readonly #threads: Threads<PartTask>

  constructor(max = 1) {
    this.#threads = new Threads({
      program: new URL('./part-worker.ts', import.meta.url),
      max,
      // The parts' bytes are outside these limits; without a limit a thread keeps tens of MB of young garbage.
      limits: { maxYoungGenerationSizeMb: 2, maxOldGenerationSizeMb: 64 },
      transferred(task) {
        const bytes = task.do === 'open' ? task.sealed : task.plain
        return bytes.byteLength === bytes.buffer.byteLength ? [bytes.buffer as ArrayBuffer] : []
      },
      failed: (message) => new InvalidAgeFile(message),
    })
  }

  run<Task extends PartTask>(task: Task): Promise<PartResult<Task>> {
    return this.#threads.run(task)
  }

  close(): Promise<void> {
    return this.#threads.close()
  }
}
