import { Text } from '@mantine/core'
import { type PointerEvent, useState } from 'react'
import classes from './line-chart.module.css'
import { axisMaximum, axisTexts, type Summary, segmentsOf, summaryOf } from './scale.ts'

export interface Series {
  label: string
  tone: 'main' | 'second' | 'bad'
  values: readonly (number | null)[]
}

interface Props {
  title: string
  times: readonly string[]
  series: readonly Series[]
  format(value: number): string
  /** The figure of the whole range. */
  summary: Summary
}

const width = 400
const height = 110

const summaryTexts: Record<Summary, string> = { total: 'total', average: 'average', maximum: 'maximum' }

/** A small line chart with the figure of its range. Pointing at the chart shows the values at that time. */
export function LineChart({ title, times, series, format, summary }: Props) {
  const [selectedIndex, setSelectedIndex] = useState<number>()
  const highest = Math.max(...series.flatMap(({ values }) => values.map((value) => value ?? 0)))
  const top = axisMaximum(Number.isFinite(highest) ? highest : 0)
  const [highestText, middleText, lowestText] = axisTexts(top, format)
  const x = (index: number) => (times.length > 1 ? (index / (times.length - 1)) * width : width / 2)
  const y = (value: number) => height - 3 - (value / top) * (height - 6)
  const selectPoint = ({ clientX, currentTarget }: PointerEvent<SVGSVGElement>) => {
    const box = currentTarget.getBoundingClientRect()
    const fraction = (clientX - box.left) / box.width
    setSelectedIndex(Math.max(0, Math.min(times.length - 1, Math.round(fraction * (times.length - 1)))))
  }
  const shownValue = (values: readonly (number | null)[]) =>
    selectedIndex === undefined ? summaryOf(values, summary) : (values[selectedIndex] ?? null)
  const valueTexts = series.map(({ label, values }) => {
    const value = shownValue(values)
    return { label, text: value === null ? '–' : format(value) }
  })
  return (
    <figure className={classes.chart}>
      <figcaption className={classes.caption}>
        <Text size="sm" fw={600} component="span">
          {title}
          <Text size="xs" c="dimmed" component="span" ml={6}>
            {selectedIndex === undefined ? summaryTexts[summary] : timeText(times[selectedIndex], times)}
          </Text>
        </Text>
        <span className={classes.values}>
          {valueTexts.map(({ label, text }, index) => (
            <span key={label} data-tone={series[index]?.tone}>
              {series.length > 1 && `${label} `}
              <b>{text}</b>
            </span>
          ))}
        </span>
      </figcaption>
      <div className={classes.plot}>
        <div className={classes.scale} aria-hidden>
          <span>{highestText}</span>
          <span>{middleText}</span>
          <span>{lowestText}</span>
        </div>
        <svg
          viewBox={`0 0 ${width} ${height}`}
          preserveAspectRatio="none"
          className={classes.picture}
          role="img"
          aria-label={`${title}: ${valueTexts.map(({ label, text }) => `${label} ${text}`).join(', ')}; at most ${format(highest || 0)}`}
          onPointerMove={selectPoint}
          onPointerLeave={() => setSelectedIndex(undefined)}
        >
          {[0, top / 2, top].map((value) => (
            <line
              key={value}
              x1="0"
              x2={width}
              y1={y(value)}
              y2={y(value)}
              className={classes.base}
              vectorEffect="non-scaling-stroke"
            />
          ))}
          {series.map(({ label, tone, values }) =>
            segmentsOf(values).map(({ from, to }) => {
              const coordinates = values.slice(from, to + 1).map((value, index) => [x(from + index), y(value ?? 0)] as const)
              // A single value is drawn as a short line.
              const [single] = coordinates
              const lineEnds =
                coordinates.length === 1 && single
                  ? ([
                      [Math.min(Math.max(0, single[0] - 4), width - 8), single[1]],
                      [Math.max(8, Math.min(width, single[0] + 4)), single[1]],
                    ] as const)
                  : coordinates
              const points = lineEnds.map(([left, top]) => `${left},${top}`)
              return (
                <g key={`${label} ${from}`} data-tone={tone}>
                  <polygon
                    points={`${lineEnds[0]?.[0]},${y(0)} ${points.join(' ')} ${lineEnds.at(-1)?.[0]},${y(0)}`}
                    className={classes.area}
                  />
                  <polyline points={points.join(' ')} className={classes.line} vectorEffect="non-scaling-stroke" />
                </g>
              )
            }),
          )}
          {selectedIndex !== undefined && (
            <line
              x1={x(selectedIndex)}
              x2={x(selectedIndex)}
              y1="0"
              y2={height}
              className={classes.pointer}
              vectorEffect="non-scaling-stroke"
            />
          )}
        </svg>
      </div>
      <div className={classes.axis}>
        <span>{timeText(times[0], times)}</span>
        <span>{timeText(times.at(-1), times)}</span>
      </div>
    </figure>
  )
}

/** The time of day; the date if the chart covers more than two days. */
function timeText(time: string | undefined, times: readonly string[]): string {
  if (!time) return ''
  const span = Date.parse(times.at(-1) ?? time) - Date.parse(times[0] ?? time)
  const options: Intl.DateTimeFormatOptions =
    span > 172_800_000 ? { day: 'numeric', month: 'short' } : { hour: '2-digit', minute: '2-digit', hour12: false }
  return new Date(time).toLocaleString('en-GB', options)
}
