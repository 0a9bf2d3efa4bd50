import type { ImportChange, TransferExport, TransferImport } from '@berth/contract'

/** The source of a transfer, on this instance or in the cloud. Every call may be repeated. */
export interface TransferSource {
  startExport(recipient: string): Promise<TransferExport>
  get(): Promise<TransferExport>
  change(state: 'ready' | 'departed' | 'aborted'): Promise<TransferExport>
  read(file: string, abort: AbortSignal): Promise<AsyncIterable<Uint8Array>>
}

/** The target of a transfer, on this instance or in the cloud. Every call may be repeated. */
export interface TransferTarget {
  openImport(): Promise<TransferImport>
  get(): Promise<TransferImport>
  change(change: ImportChange): Promise<TransferImport>
  /** Rejects if the hash of the received bytes differs. */
  write(
    file: { name: string; sizeBytes: number; sha256: string },
    bytes: AsyncIterable<Uint8Array>,
    abort: AbortSignal,
  ): Promise<void>
}

export interface Sides {
  source: TransferSource
  target: TransferTarget
}
