import { SegmentedControl, SimpleGrid, Skeleton, Text } from '@mantine/core'
import { useState } from 'react'
import { LineChart } from '../../../charts/line-chart.tsx'
import { fromFirstMeasurement } from '../../../charts/scale.ts'
import { ErrorState } from '../../../components/error-state.tsx'
import { Section } from '../../../components/section.tsx'
import { type MetricPoint, type Span, useMetrics } from '../../../data/metrics.ts'
import { numberText } from '../../../text/sizes.ts'
import { durationText } from '../../../text/times.ts'

const choices = [
  { value: 'hour', label: '1 h' },
  { value: 'day', label: '24 h' },
  { value: 'week', label: '7 d' },
  { value: 'month', label: '30 d' },
]

const memory = (megabytes: number) => (megabytes >= 1000 ? `${(megabytes / 1000).toFixed(1)} GB` : `${Math.round(megabytes)} MB`)
const cores = (value: number) => `${value === 0 ? 0 : value < 0.0005 ? '<0.001' : value.toFixed(value < 0.1 ? 3 : 2)} cores`

/** Charts of CPU, memory, requests and latency. */
export function MetricsSection({ projectId }: { projectId: string }) {
  const [span, setSpan] = useState<Span>('hour')
  const metrics = useMetrics(projectId, span)
  const { error } = metrics
  return (
    <Section
      title="Metrics"
      actions={
        <SegmentedControl size="xs" aria-label="Span" data={choices} value={span} onChange={(value) => setSpan(value as Span)} />
      }
    >
      {metrics.data ? <Charts points={metrics.data.points} /> : error ? <ErrorState error={error} /> : <Skeleton height={330} />}
    </Section>
  )
}

function Charts({ points: all }: { points: readonly MetricPoint[] }) {
  const points = fromFirstMeasurement(all, ({ requests, memoryMb }) => requests > 0 || memoryMb !== null)
  if (points.length === 0)
    return (
      <Text c="dimmed" size="sm">
        Nothing was measured in this time. Metrics appear one minute after the project starts.
      </Text>
    )
  const times = points.map(({ at }) => at)
  const valuesOf = (name: Exclude<keyof MetricPoint, 'at'>) => points.map((point) => point[name])
  return (
    <>
      {points.length < all.length && (
        <Text c="dimmed" size="sm" mb="md">
          Since the first measurement
        </Text>
      )}
      <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="xl">
        <LineChart
          title="Requests"
          summary="total"
          times={times}
          format={(value) => numberText(Math.round(value))}
          series={[
            { label: 'all', tone: 'main', values: valuesOf('requests') },
            { label: '4xx', tone: 'second', values: valuesOf('errors4xx') },
            { label: '5xx', tone: 'bad', values: valuesOf('errors5xx') },
          ]}
        />
        <LineChart
          title="Latency"
          summary="average"
          times={times}
          format={durationText}
          series={[
            { label: 'p50', tone: 'main', values: valuesOf('p50Ms') },
            { label: 'p99', tone: 'second', values: valuesOf('p99Ms') },
          ]}
        />
        <LineChart
          title="CPU"
          summary="average"
          times={times}
          format={cores}
          series={[{ label: 'used', tone: 'main', values: valuesOf('cpuCores') }]}
        />
        <LineChart
          title="Memory"
          summary="maximum"
          times={times}
          format={memory}
          series={[{ label: 'used', tone: 'main', values: valuesOf('memoryMb') }]}
        />
      </SimpleGrid>
    </>
  )
}
