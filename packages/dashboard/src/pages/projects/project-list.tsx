import type { Deployment, Project } from '@berth/contract'
import { Text } from '@mantine/core'
import { useElementSize } from '@mantine/hooks'
import { useWindowVirtualizer } from '@tanstack/react-virtual'
import { memo, useEffect, useLayoutEffect, useRef, useState } from 'react'
import { ProjectCard } from './project-card.tsx'
import classes from './project-list.module.css'
import { ProjectRow } from './project-row.tsx'

interface Props {
  projects: readonly Project[]
  newest: ReadonlyMap<string, Deployment>
  view: 'cards' | 'rows'
  search: string
}

/** Heights set in project-list.module.css, including the gap below, so that nothing has to be measured. */
const rowPx = 58
const cardPx = 210

// Scrolling renders the list again; items that did not change are kept.
const Card = memo(ProjectCard)
const Row = memo(ProjectRow)

/** Renders only the visible projects, so that a long list scrolls smoothly. */
export function ProjectList({ projects, newest, view, search }: Props) {
  const { ref, width } = useElementSize()
  const elementRef = useRef<HTMLDivElement>(null)
  const [top, setTop] = useState(0)
  useLayoutEffect(() => setTop(elementRef.current?.offsetTop ?? 0), [])
  const columns = view === 'rows' ? 1 : Math.max(1, Math.min(3, Math.floor((width || window.innerWidth - 32) / 300)))
  const rows = useWindowVirtualizer({
    count: Math.ceil(projects.length / columns),
    estimateSize: () => (view === 'rows' ? rowPx : cardPx),
    overscan: 4,
    // New rows may be rendered a frame later; scrolling itself does not wait for them.
    useFlushSync: false,
    scrollMargin: top,
  })
  // Cards and rows have different heights.
  useEffect(() => rows.measure(), [rows, view, columns])
  if (projects.length === 0)
    return (
      <Text c="dimmed" ta="center" py="xl">
        {search ? `No project matches “${search}”.` : 'No project has this status.'}
      </Text>
    )
  const Shape = view === 'rows' ? Row : Card
  return (
    <div ref={elementRef}>
      <ul ref={ref} className={classes.list} data-view={view} style={{ height: rows.getTotalSize() }} aria-label="Projects">
        {rows.getVirtualItems().map(({ index, key, start }) => (
          <li
            key={key}
            className={classes.row}
            style={{ transform: `translateY(${start - top}px)`, gridTemplateColumns: `repeat(${columns}, minmax(0, 1fr))` }}
          >
            {projects.slice(index * columns, (index + 1) * columns).map((project) => (
              <Shape key={project.id} project={project} deployment={newest.get(project.id)} />
            ))}
          </li>
        ))}
      </ul>
    </div>
  )
}
