import type { Awaitable } from '../awaitable.ts'

/** A value of a metric, with the labels that distinguish it from the metric's other values. */
export interface Sample {
  value: number
  labels?: Readonly<Record<string, string>>
  /** The part of a histogram. */
  suffix?: '_bucket' | '_sum' | '_count'
}

export interface MetricInfo {
  type: 'counter' | 'gauge' | 'histogram'
  help: string
}

export type Samples<Name extends string = string> = Partial<Record<Name, readonly Sample[]>>

/**
 * The metrics that a part of the instance declares, in the terms of Prometheus, and one function that reads them all. Labels have
 * few values, or as many as there are projects; they never contain values of requests.
 */
export interface MetricSource<Name extends string = string> {
  readonly metrics: Readonly<Record<Name, MetricInfo>>
  collect(): Awaitable<Samples<Name>>
}

/** All metrics in the text format of Prometheus. */
export interface Exposition {
  contentType: string
  text: string
}

/** Declares a source; the compiler refuses a `collect` that returns undeclared metrics. */
export const metricSource = <Name extends string>(
  metrics: Readonly<Record<Name, MetricInfo>>,
  collect: () => Awaitable<Samples<Name>>,
): MetricSource<Name> => ({ metrics, collect })
