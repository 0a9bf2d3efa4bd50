import type { Arrival, ArrivalChange, Departure } from '@berth/contract'

/** The source of a move. Every call may be repeated. */
export interface DepartingSide {
  start(recipient: string): Promise<Departure>
  look(): Promise<Departure>
  change(state: 'ready' | 'departed' | 'aborted'): Promise<Departure>
  read(file: string, abort: AbortSignal): Promise<AsyncIterable<Uint8Array>>
}

/** The target of a move. Every call may be repeated. */
export interface ArrivingSide {
  open(): Promise<Arrival>
  look(): Promise<Arrival>
  change(change: ArrivalChange): Promise<Arrival>
  /** Rejects when the received bytes have another hash. */
  write(
    file: { name: string; sizeBytes: number; sha256: string },
    bytes: AsyncIterable<Uint8Array>,
    abort: AbortSignal,
  ): Promise<void>
}

export interface Sides {
  departure: DepartingSide
  arrival: ArrivingSide
}
