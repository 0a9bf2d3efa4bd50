import { randomBytes } from 'node:crypto'
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Made once in the runtime's folder and then for ever: who we are to the engine, and a key for names. */
export function readIdentity(folder: string): { instance: string; cacheKey: Buffer } {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  return {
    instance: keptIn(join(folder, 'instance-id'), () => randomBytes(8).toString('hex')),
    cacheKey: Buffer.from(
      keptIn(join(folder, 'cache-key'), () => randomBytes(32).toString('hex')),
      'hex',
    ),
  }
}

function keptIn(file: string, make: () => string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    const draft = `${file}.${process.pid}`
    writeFileSync(draft, make(), { mode: 0o600, flush: true })
    try {
      // Whole or not at all, and never over another one's.
      linkSync(draft, file)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    } finally {
      rmSync(draft, { force: true })
    }
    return readFileSync(file, 'utf8').trim()
  }
}
