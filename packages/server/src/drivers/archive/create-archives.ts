import type { Secret } from '../../platform/secrets/secret.ts'
import { StoreFailure } from '../archive-store/store-failure.ts'
import { InvalidAgeFile } from './age-header.ts'
import { type Archives, defaultPartBytes } from './archive.ts'
import { contentKeyOf, recipientOf } from './instance-key.ts'
import { PartWorkers } from './part-workers.ts'
import { readArchive, verifyArchive } from './read-archive.ts'
import { compressionHere } from './seal-part.ts'
import { writeArchive } from './write-archive.ts'

export interface ArchiveSettings {
  /** Identities (`AGE-SECRET-KEY-1…`): data is encrypted to the first, the instance's own; all of them decrypt. */
  identities: readonly [Secret, ...Secret[]]
  isNewKey?: boolean
  partBytes?: number
}

export async function createArchives(settings: ArchiveSettings): Promise<Archives> {
  const { identities, isNewKey = false, partBytes = defaultPartBytes } = settings
  const workers = new PartWorkers()
  const recipients = await Promise.all(identities.map(recipientOf))
  const recipient = recipients[0]!
  const contentKeys = identities.map(contentKeyOf)
  const contentKey = contentKeys[0]!
  const revealIdentities = () => identities.map((identity) => identity.reveal())

  return {
    recipient,
    recipients,
    isNewKey,
    write: (content, writing) => writeArchive(content, writing, { recipients: [recipient], contentKey, partBytes }, workers),
    verify: verifyArchive,
    read: (index, reading) => readArchive(index, reading, { identities: revealIdentities(), contentKeys }, workers),
    async seal(content) {
      // A copy, since the buffer is transferred to the thread.
      const { sealed } = await workers.run({ do: 'seal', plain: Uint8Array.from(content), recipients: [recipient] })
      return sealed
    },
    async unseal(given, maxBytes) {
      const sealed = Uint8Array.from(given)
      try {
        return await workers.run({ do: 'open', sealed, compression: compressionHere, identities: revealIdentities(), maxBytes })
      } catch (error) {
        throw error instanceof InvalidAgeFile
          ? new StoreFailure('corrupt', `This file ${error.message}`, { cause: error })
          : error
      }
    },
    close: () => workers.close(),
  }
}
