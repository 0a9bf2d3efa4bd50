import { Text } from '@mantine/core'
import { type PointerEvent, useState } from 'react'
import classes from './line-chart.module.css'
import { lastKnown, niceTop, stretches } from './scale.ts'

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
}

const width = 400
const height = 110

/** A small chart that is read at a glance: the newest value in words, the way it went as a line, any point by pointing at it. */
export function LineChart({ title, times, series, format }: Props) {
  const [at, setAt] = useState<number>()
  const highest = Math.max(...series.flatMap(({ values }) => values.map((value) => value ?? 0)))
  const top = niceTop(Number.isFinite(highest) ? highest : 0)
  const x = (index: number) => (times.length > 1 ? (index / (times.length - 1)) * width : width / 2)
  const y = (value: number) => height - (value / top) * (height - 6)
  const point = ({ clientX, currentTarget }: PointerEvent<SVGSVGElement>) => {
    const box = currentTarget.getBoundingClientRect()
    const share = (clientX - box.left) / box.width
    setAt(Math.max(0, Math.min(times.length - 1, Math.round(share * (times.length - 1)))))
  }
  const shown = (values: readonly (number | null)[]) => (at === undefined ? lastKnown(values) : (values[at] ?? null))
  const words = series.map(({ label, values }) => {
    const value = shown(values)
    return { label, text: value === null ? '–' : format(value) }
  })
  return (
    <figure className={classes.chart}>
      <figcaption className={classes.caption}>
        <Text size="sm" fw={600} component="span">
          {title}
        </Text>
        <span className={classes.words}>
          {words.map(({ label, text }, index) => (
            <span key={label} data-tone={series[index]?.tone}>
              {series.length > 1 && `${label} `}
              <b>{text}</b>
            </span>
          ))}
        </span>
      </figcaption>
      <svg
        viewBox={`0 0 ${width} ${height}`}
        preserveAspectRatio="none"
        className={classes.picture}
        role="img"
        aria-label={`${title}: ${words.map(({ label, text }) => `${label} ${text}`).join(', ')}; at most ${format(highest || 0)}`}
        onPointerMove={point}
        onPointerLeave={() => setAt(undefined)}
      >
        <line x1="0" x2={width} y1={height - 0.5} y2={height - 0.5} className={classes.base} />
        {series.map(({ label, tone, values }) =>
          stretches(values).map(({ from, to }) => {
            const drawn = values.slice(from, to + 1).map((value, index) => [x(from + index), y(value ?? 0)] as const)
            // One figure alone is a short stroke: a line needs two ends.
            const [only] = drawn
            const ends =
              drawn.length === 1 && only
                ? ([
                    [Math.min(Math.max(0, only[0] - 4), width - 8), only[1]],
                    [Math.max(8, Math.min(width, only[0] + 4)), only[1]],
                  ] as const)
                : drawn
            const points = ends.map(([left, top]) => `${left},${top}`)
            return (
              <g key={`${label} ${from}`} data-tone={tone}>
                <polygon points={`${x(from)},${height} ${points.join(' ')} ${x(to)},${height}`} className={classes.area} />
                <polyline points={points.join(' ')} className={classes.line} vectorEffect="non-scaling-stroke" />
              </g>
            )
          }),
        )}
        {at !== undefined && (
          <line x1={x(at)} x2={x(at)} y1="0" y2={height} className={classes.pointer} vectorEffect="non-scaling-stroke" />
        )}
      </svg>
      <div className={classes.axis}>
        <span>{timeText(times[0], times)}</span>
        <span>{at === undefined ? `top ${format(top)}` : timeText(times[at], times)}</span>
        <span>{timeText(times.at(-1), times)}</span>
      </div>
    </figure>
  )
}

/** The clock within a day, the date beyond. */
function timeText(time: string | undefined, times: readonly string[]): string {
  if (!time) return ''
  const span = Date.parse(times.at(-1) ?? time) - Date.parse(times[0] ?? time)
  const options: Intl.DateTimeFormatOptions =
    span > 172_800_000 ? { day: 'numeric', month: 'short' } : { hour: '2-digit', minute: '2-digit', hour12: false }
  return new Date(time).toLocaleString('en-GB', options)
}
