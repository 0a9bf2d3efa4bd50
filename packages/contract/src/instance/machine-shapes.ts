import { type Static, Type } from 'typebox'
import { nullable, oneOf, Time } from '../shape.ts'

const Bytes = Type.Integer({ minimum: 0 })
const count = (description: string) => Type.Integer({ minimum: 0, description })
const load = (description: string) => Type.Number({ minimum: 0, description })

export const MachineProblem = Type.Object({
  kind: oneOf('disk_low', 'memory_low', 'clock_wrong'),
  message: Type.String({ description: 'What is wrong' }),
  remedy: Type.String({ description: 'What to do about it' }),
})
export type MachineProblem = Static<typeof MachineProblem>

/** The machine that runs the projects. */
export const Machine = Type.Object({
  disk: Type.Object(
    {
      totalBytes: Bytes,
      freeBytes: Bytes,
      totalInodes: count('Inodes in all; 0: the file system has no fixed number of them'),
      freeInodes: count('Free inodes'),
    },
    { description: 'The file system of the data folder' },
  ),
  memory: Type.Object(
    {
      totalBytes: Bytes,
      availableBytes: Type.Integer({ minimum: 0, description: 'Bytes that programs can get, the cache of files included' }),
    },
    { description: 'Memory of the machine' },
  ),
  load: Type.Object(
    {
      oneMinute: load('Average of one minute'),
      fiveMinutes: load('Average of five minutes'),
      fifteenMinutes: load('Average of fifteen minutes'),
      cores: count('Processor cores'),
    },
    { description: 'Processes that run or wait for a core' },
  ),
  clock: Type.Object(
    {
      offsetSeconds: nullable(
        Type.Number({ description: 'How far the clock is ahead of that of the certificate authority; null: not compared' }),
      ),
    },
    { description: 'The clock of the machine' },
  ),
  problems: Type.Array(MachineProblem),
})
export type Machine = Static<typeof Machine>

/** The version of the instance and the newest one on the package registry. */
export const InstanceVersion = Type.Object({
  version: Type.String(),
  isChecked: Type.Boolean({ description: 'Whether the package registry is asked; a clone is upgraded by git' }),
  newest: nullable(Type.String({ description: 'The newest version, if it is newer than this one; null: none is known' })),
  checkedAt: nullable(Time),
  problem: nullable(Type.String({ description: 'Why the last check failed; null: it did not' })),
})
export type InstanceVersion = Static<typeof InstanceVersion>
