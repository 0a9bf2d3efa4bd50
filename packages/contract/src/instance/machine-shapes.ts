import { type Static, Type } from 'typebox'
import { nullable, oneOf } from '../shape.ts'

const Bytes = Type.Integer({ minimum: 0 })
const Count = Type.Integer({ minimum: 0 })
const Load = Type.Number({ minimum: 0 })

export const MachineProblem = Type.Object({
  kind: oneOf('disk_low', 'memory_low', 'clock_wrong'),
  message: Type.String({ description: 'What is wrong' }),
  remedy: Type.String({ description: 'What to do about it' }),
})
export type MachineProblem = Static<typeof MachineProblem>

/** The machine that runs the projects. */
export const Machine = Type.Object({
  disk: Type.Object(
    { totalBytes: Bytes, freeBytes: Bytes, totalInodes: Count, freeInodes: Count },
    { description: 'The file system of the data folder; 0 inodes in all: it has no fixed number of them' },
  ),
  memory: Type.Object({ totalBytes: Bytes, availableBytes: Bytes }),
  load: Type.Object({ oneMinute: Load, fiveMinutes: Load, fifteenMinutes: Load, cores: Count }),
  clock: Type.Object({
    offsetSeconds: nullable(
      Type.Number({ description: 'How far the clock is ahead of the certificate authority; null: it was not compared' }),
    ),
  }),
  problems: Type.Array(MachineProblem),
})
export type Machine = Static<typeof Machine>
