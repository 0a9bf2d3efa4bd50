import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface TempFolder extends AsyncDisposable {
  readonly path: string
  remove(): Promise<void>
}

/** `await using folder = await tempFolder()` removes the folder at the end of the block, also after an error. */
export async function tempFolder(name = 'test'): Promise<TempFolder> {
  const path = await mkdtemp(join(tmpdir(), `berth-${name}-`))
  // A process that was just ended may still be writing its last file.
  const remove = () => rm(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
  return { path, remove, [Symbol.asyncDispose]: remove }
}
