import '@mantine/spotlight/styles.css'
import { contract } from '@berth/contract'
import { Spotlight, type SpotlightActionGroupData, spotlight } from '@mantine/spotlight'
import { IconBox, IconPlus, IconSearch } from '@tabler/icons-react'
import { useNavigate, useRouterState } from '@tanstack/react-router'
import { useEffect } from 'react'
import { useRead } from '../data/read.ts'
import { statusLabel } from '../text/status-text.ts'
import { closeCommands } from './command-state.ts'
import { organisationLinks, projectLinks } from './links.ts'
import type { NavigationEntry } from './navigation-link.tsx'

/** Finds pages and projects by name. */
export function CommandPalette() {
  const navigate = useNavigate()
  const path = useRouterState({ select: ({ location }) => location.pathname })
  const projects = useRead(contract.projects.home, {})
  useEffect(() => spotlight.open(), [])
  const go = (to: string) => () => void navigate({ to })
  const entry = ({ to, label, icon: Picture }: NavigationEntry) => ({
    id: to,
    label,
    leftSection: <Picture size={18} stroke={1.6} />,
    onClick: go(to),
  })
  const projectId = /^\/projects\/([^/]+)/.exec(path)?.[1]
  const groups: SpotlightActionGroupData[] = [
    ...(projectId ? [{ group: 'This project', actions: projectLinks(projectId).map(entry) }] : []),
    {
      group: 'Projects',
      actions: [
        entry({ to: '/new', label: 'New project', icon: IconPlus }),
        ...(projects.data ?? []).map(({ id, name, slug, status }) => ({
          id,
          label: name,
          description: `${slug} · ${statusLabel(status)}`,
          leftSection: <IconBox size={18} stroke={1.6} />,
          onClick: go(`/projects/${id}`),
        })),
      ],
    },
    ...organisationLinks.map(({ title, links }) => ({ group: title, actions: links.map(entry) })),
  ]
  return (
    <Spotlight
      actions={groups}
      onSpotlightClose={closeCommands}
      nothingFound="No results"
      limit={20}
      scrollable
      maxHeight={400}
      shortcut={null}
      overlayProps={{ backgroundOpacity: 0.35, blur: 0 }}
      attributes={{ content: { 'aria-label': 'Search projects and pages' } }}
      // Mantine's default for the second line of a selected entry has too little contrast.
      styles={{ action: { '--action-description-opacity': '1' } }}
      searchProps={{ placeholder: 'Search projects and pages', leftSection: <IconSearch size={18} />, 'aria-label': 'Search' }}
    />
  )
}
