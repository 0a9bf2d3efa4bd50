import type { ArchiveStore } from '../archive-store/archive-store.ts'

/** An object store to which clients upload directly, each with a presigned URL. */
export interface UploadStore extends Pick<ArchiveStore, 'size' | 'get' | 'list' | 'remove' | 'close'> {
  /** Creates a presigned URL for an upload of exactly that many bytes, valid for so long. It sends no request. */
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
  /** Signed headers: the store rejects the upload without them or with other values. */
  headers: Record<string, string>
}
