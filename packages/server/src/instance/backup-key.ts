import { join } from 'node:path'
import type { Archives } from '../drivers/archive/archive.ts'
import { createArchives } from '../drivers/archive/create-archives.ts'
import { readIdentities, readOrCreateIdentity, writeIdentities } from '../drivers/archive/instance-key.ts'
import { Mutex } from '../platform/keyed-mutex.ts'
import type { Log } from '../platform/log.ts'
import type { Secret } from '../platform/secrets/secret.ts'

/** The key file, usable with `age -i`. */
export const backupKeyFile = (dataDir: string) => join(dataDir, 'backup.key')

export const keyAdvice = (file: string) =>
  `Backups are encrypted with the key in ${file}. Keep a copy of that file on another machine: without it no backup can be restored.`

type Identities = readonly [Secret, ...Secret[]]

/** Opens the archives with the key file. The result is cached while the file is unchanged; a failure is not cached. */
export function openArchives(file: string, log: Log, partBytes?: number): () => Promise<Archives> {
  let current: { identities: Identities; archives: Archives } | undefined
  const mutex = new Mutex()
  const check = async (): Promise<Archives> => {
    const found = await readIdentities(file)
    if (current && !found) {
      // Without the key file, backups from now on could not be opened after this process ends.
      await writeIdentities(file, current.identities)
      log.error({ file }, `backups: key file ${file} was missing and has been written again from memory. ${keyAdvice(file)}`)
      return current.archives
    }
    if (current && found && isSame(current.identities, found)) return current.archives
    const created = found ? undefined : await readOrCreateIdentity(file)
    if (created?.isNew) log.warn({ file }, keyAdvice(file))
    const identities: Identities = found ?? [created!.identity]
    const archives = await createArchives({ identities, isNewKey: created?.isNew ?? false, ...(partBytes ? { partBytes } : {}) })
    if (current) log.warn({ file, recipient: archives.recipient }, 'backups: key changed, the new key is used from now on')
    current = { identities, archives }
    return archives
  }
  return () => mutex.run(check)
}

const isSame = (one: Identities, other: Identities) =>
  one.length === other.length && one.every((identity, at) => identity.reveal() === other[at]?.reveal())
