import { type Static, Type } from 'typebox'
import { nullable, Time, text } from '../shape.ts'

/** A measurement of the step that begins at `at`; null if nothing was measured, because nothing ran or no request arrived. */
const number = (description: string) => nullable(Type.Number({ description }))

export const MetricPoint = Type.Object({
  at: Time,
  cpuCores: number('Average CPU use of all instances together, in cores'),
  memoryMb: number('Highest memory use, in MB'),
  requests: Type.Integer(),
  errors4xx: Type.Integer(),
  errors5xx: Type.Integer(),
  p50Ms: number('Median duration of the requests, in milliseconds'),
  p99Ms: number('99th percentile of the duration of the requests, in milliseconds'),
  bytesOut: Type.Integer({ description: 'Bytes of response bodies' }),
  restarts: Type.Integer({ description: 'How often a service exited by itself' }),
})

export const Metrics = Type.Object({
  stepSeconds: Type.Integer({
    description: 'The interval that was used: whole minutes, or half hours for older data',
  }),
  points: Type.Array(MetricPoint),
})

const moment = Type.Optional(Type.String({ format: 'date-time' }))

export const MetricsQuery = Type.Object({
  from: moment,
  to: moment,
  stepSeconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 30 * 24 * 3600 })),
  environment: Type.Optional(text(80, 1)),
})

export type MetricPoint = Static<typeof MetricPoint>
export type Metrics = Static<typeof Metrics>
