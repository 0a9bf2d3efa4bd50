import { join } from 'node:path'
import type { Archives } from '../drivers/archive/archive.ts'
import { createArchives } from '../drivers/archive/create-archives.ts'
import { readOrMakeIdentity } from '../drivers/archive/instance-key.ts'
import type { Log } from '../platform/log.ts'

/** What the `age` command takes as `-i`. */
export const backupKeyFile = (dataDir: string) => join(dataDir, 'backup.key')

export const keyAdvice = (file: string) =>
  `Backups are encrypted to the key in ${file}: keep a copy of that file elsewhere, because without it no backup can be opened by anybody`

/** The same one for all; a first failure is not the last word. */
export function openArchives(file: string, log: Log, partBytes?: number): () => Promise<Archives> {
  let opening: Promise<Archives> | undefined
  const open = async () => {
    const { identity, isNew } = await readOrMakeIdentity(file)
    if (isNew) log.warn({ file }, keyAdvice(file))
    return createArchives({ identities: [identity], ...(partBytes ? { partBytes } : {}) })
  }
  return () => {
    opening ??= open().catch((error: unknown) => {
      opening = undefined
      throw error
    })
    return opening
  }
}
