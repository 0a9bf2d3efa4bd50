import { InvalidAgeFile } from './age-header.ts'
import type { Compression } from './archive.ts'
import { contentHash, isEqual, openPart, type SealedPart, sealPart } from './seal-part.ts'

/** Tasks of a worker thread. Buffers are transferred, not copied: the sender cannot use them afterwards. */
export type PartTask =
  | { do: 'hash'; plain: Uint8Array; contentKey: Uint8Array }
  | { do: 'seal'; plain: Uint8Array; recipients: readonly string[] }
  | {
      do: 'open'
      sealed: Uint8Array
      compression: Compression
      identities: readonly string[]
      maxBytes: number
      expectedBytes?: number
      /** The expected content hash, under one of the keys: only an owner of the key can compute it. */
      content?: { keys: readonly Uint8Array[]; hash: string }
    }

export interface Hashed {
  content: string
  plain: Uint8Array
}

export type PartResult<Task extends PartTask> = Task['do'] extends 'hash'
  ? Hashed
  : Task['do'] extends 'seal'
    ? SealedPart
    : Uint8Array

export async function doPartTask(task: PartTask): Promise<Hashed | SealedPart | Uint8Array> {
  if (task.do === 'hash') return { content: contentHash(task.plain, task.contentKey), plain: task.plain }
  if (task.do === 'seal') return sealPart(task.plain, task.recipients)
  const { sealed, content } = task
  const plain = await openPart(sealed, task)
  if (content && !content.keys.some((key) => isEqual(contentHash(plain, key), content.hash)))
    throw new InvalidAgeFile('has other content than its index states')
  return plain
}
