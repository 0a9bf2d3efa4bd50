import { ActionIcon, Switch, TextInput } from '@mantine/core'
import { IconDownload, IconSearch } from '@tabler/icons-react'
import { useVirtualizer } from '@tanstack/react-virtual'
import { type ReactNode, useEffect, useMemo, useRef, useState } from 'react'
import { plainText, styledText } from '../rules/ansi.ts'
import { downloadText } from '../text/download.ts'
import { plural } from '../text/sizes.ts'
import { clockTime } from '../text/times.ts'
import classes from './log-viewer.module.css'

export interface LogLine {
  id: string
  time: string
  message: string
  stream: string
  /** The step or service that wrote it. */
  origin?: string | null
}

interface Props {
  label: string
  lines: readonly LogLine[]
  /** Text shown while there are no lines. */
  empty: string
  fileName: string
  height?: string
  tools?: ReactNode
}

/**
 * Log lines as they arrive, with search, follow and download. Renders only the visible lines, so that a million lines scroll
 * smoothly.
 */
export function LogViewer({ label, lines, empty, fileName, height = '28rem', tools }: Props) {
  const [search, setSearch] = useState('')
  const [isFollowing, setFollowing] = useState(true)
  const box = useRef<HTMLDivElement>(null)
  const wanted = search.toLowerCase()
  const shown = useMemo(
    () => (wanted ? lines.filter(({ message }) => plainText(message).toLowerCase().includes(wanted)) : lines),
    [lines, wanted],
  )
  const rows = useVirtualizer({
    count: shown.length,
    getScrollElement: () => box.current,
    estimateSize: () => 21,
    overscan: 30,
    getItemKey: (at) => shown[at]?.id ?? at,
  })
  useEffect(() => {
    if (isFollowing && shown.length > 0) rows.scrollToIndex(shown.length - 1, { align: 'end' })
  }, [isFollowing, shown.length, rows])
  return (
    <div className={classes.viewer}>
      <div className={classes.tools}>
        <TextInput
          className={classes.search}
          aria-label={`Search in ${label}`}
          placeholder="Search"
          leftSection={<IconSearch size={15} />}
          size="xs"
          value={search}
          onChange={(event) => setSearch(event.currentTarget.value)}
        />
        <span className={classes.count} role="status">
          {wanted ? `${plural(shown.length, 'line')} of ${lines.length}` : plural(lines.length, 'line')}
        </span>
        <div className={classes.right}>
          {tools}
          <Switch
            size="xs"
            label="Follow"
            checked={isFollowing}
            onChange={(event) => setFollowing(event.currentTarget.checked)}
          />
          <ActionIcon
            variant="default"
            onClick={() => download(shown, fileName)}
            aria-label={`Download ${label}`}
            title="Download"
          >
            <IconDownload size={16} />
          </ActionIcon>
        </div>
      </div>
      <div
        ref={box}
        className={classes.box}
        style={{ maxHeight: height }}
        role="log"
        aria-label={label}
        aria-live="off"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls is reached by keyboard
        tabIndex={0}
        onWheel={(event) => event.deltaY < 0 && setFollowing(false)}
      >
        {shown.length === 0 && <p className={classes.empty}>{wanted ? 'No matching lines.' : empty}</p>}
        <div style={{ height: rows.getTotalSize(), position: 'relative' }}>
          {rows.getVirtualItems().map(({ index, key, start }) => (
            <Line key={key} line={shown[index]!} at={start} index={index} measure={rows.measureElement} />
          ))}
        </div>
      </div>
    </div>
  )
}

interface LineProps {
  line: LogLine
  at: number
  index: number
  measure(element: HTMLElement | null): void
}

const Line = ({ line, at, index, measure }: LineProps) => (
  <div
    ref={measure}
    data-index={index}
    className={classes.line}
    data-stream={line.stream}
    style={{ transform: `translateY(${at}px)` }}
  >
    <span className={classes.time}>{clockTime(line.time)}</span>
    {line.origin && <span className={classes.origin}>{line.origin}</span>}
    <Message message={line.message} />
  </div>
)

/** A message in its own colours. Escape sequences are never shown. */
const Message = ({ message }: { message: string }) => (
  <span className={classes.message}>
    {styledText(message).map(({ text, color, background, isBold, isDim, isItalic, isUnderlined }, at) =>
      color || background || isBold || isDim || isItalic || isUnderlined ? (
        <span
          key={at}
          style={{
            ...(color ? { color: cssColor(color) } : {}),
            ...(background ? { background: cssColor(background) } : {}),
            ...(isBold ? { fontWeight: 700 } : {}),
            ...(isDim ? { opacity: 0.75 } : {}),
            ...(isItalic ? { fontStyle: 'italic' } : {}),
            ...(isUnderlined ? { textDecoration: 'underline' } : {}),
          }}
        >
          {text}
        </span>
      ) : (
        text
      ),
    )}
  </span>
)

const cssColor = (color: string) => (color.startsWith('#') ? color : `var(--ansi-${color})`)

const download = (lines: readonly LogLine[], fileName: string) =>
  downloadText(
    fileName,
    lines.map(({ time, origin, message }) => `${time} ${origin ? `[${origin}] ` : ''}${plainText(message)}\n`),
  )
