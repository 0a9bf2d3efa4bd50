import { randomBytes } from 'node:crypto'
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Permanent identity of this Berth in the engine, and the HMAC key for names of build caches. Created once. */
export function readIdentity(folder: string): { instance: string; cacheKey: Buffer } {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  return {
    instance: readOrCreate(join(folder, 'instance-id'), () => randomBytes(8).toString('hex')),
    cacheKey: Buffer.from(
      readOrCreate(join(folder, 'cache-key'), () => randomBytes(32).toString('hex')),
      'hex',
    ),
  }
}

function readOrCreate(file: string, createValue: () => string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    const draft = `${file}.${process.pid}`
    writeFileSync(draft, createValue(), { mode: 0o600, flush: true })
    try {
      // Created atomically, and never over an existing one.
      linkSync(draft, file)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    } finally {
      rmSync(draft, { force: true })
    }
    return readFileSync(file, 'utf8').trim()
  }
}
