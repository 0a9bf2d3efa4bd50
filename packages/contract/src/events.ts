import { type Static, type TSchema, Type } from 'typebox'
import { nullable, Time } from './shape.ts'

/** Events of the streams of runs and restores; they never contain a token or a secret. */

export const Progress = Type.Object({
  bytesDone: Type.Integer({ minimum: 0 }),
  bytesTotal: nullable(Type.Integer({ minimum: 0 })),
  bytesPerSecond: Type.Number({ minimum: 0 }),
})
export type Progress = Static<typeof Progress>

/**
 * `snapshot` with the current row, then `transition` and `progress` as they happen, then `complete` with the final row, then the
 * end.
 */
export const rowEvents = <R extends TSchema, S extends TSchema>(row: R, status: S) => ({
  snapshot: row,
  transition: Type.Object({ status, at: Time }),
  progress: Progress,
  complete: row,
})
