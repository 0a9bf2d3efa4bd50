import type { Arrival, ArrivalChange, Departure } from '@berth/contract'

/** The source of a transfer, on this instance or in the cloud. Every call may be repeated. */
export interface TransferSource {
  startExport(recipient: string): Promise<Departure>
  get(): Promise<Departure>
  change(state: 'ready' | 'departed' | 'aborted'): Promise<Departure>
  read(file: string, abort: AbortSignal): Promise<AsyncIterable<Uint8Array>>
}

/** The target of a transfer, on this instance or in the cloud. Every call may be repeated. */
export interface TransferTarget {
  openImport(): Promise<Arrival>
  get(): Promise<Arrival>
  change(change: ArrivalChange): Promise<Arrival>
  /** Rejects when the received bytes have another hash. */
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
