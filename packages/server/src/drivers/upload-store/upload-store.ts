import type { ArchiveStore } from '../archive-store/archive-store.ts'

/** An object store that people send uploads to straight, each at an address that was signed for it. */
export interface UploadStore extends Pick<ArchiveStore, 'size' | 'get' | 'list' | 'remove' | 'close'> {
  /** Where whoever has the address may put that many bytes, no more and no less, for so long. Asks nobody. */
  addressFor(name: string, terms: UploadTerms): Promise<UploadAddress>
}

export interface UploadTerms {
  sizeBytes: number
  contentType: string
  seconds: number
}

export interface UploadAddress {
  url: string
  method: 'PUT'
  /** Part of what was signed: without them, or with others, the store refuses it. */
  headers: Record<string, string>
}
