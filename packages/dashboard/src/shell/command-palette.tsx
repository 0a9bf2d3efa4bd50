import '@mantine/spotlight/styles.css'
import { contract, type Project } from '@berth/contract'
import { Spotlight, type SpotlightActionGroupData, spotlight } from '@mantine/spotlight'
import { IconBox, IconExternalLink, IconPlayerPlay, IconPlus, IconRefresh, IconRocket, IconSearch } from '@tabler/icons-react'
import { useNavigate, useRouterState } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { useProjectOperations } from '../data/project-operations.ts'
import { useRead } from '../data/read.ts'
import { findCommands, matchesText, type ProjectCommand } from '../rules/find-commands.ts'
import { addressOf } from '../rules/find-projects.ts'
import { statusLabel } from '../text/status-text.ts'
import { closeCommands } from './command-state.ts'
import { organisationLinks, projectLinks } from './links.ts'
import type { NavigationEntry } from './navigation-link.tsx'

interface Command extends ProjectCommand {
  icon: NavigationEntry['icon']
  run(project: Project): void
}

/** Finds projects, their pages and actions (`shop env`, `redeploy shop`), and the pages of the organisation. */
export function CommandPalette() {
  const navigate = useNavigate()
  const path = useRouterState({ select: ({ location }) => location.pathname })
  const projects = useRead(contract.projects.home, {})
  const [query, setQuery] = useState('')
  const operations = useProjectOperations()
  useEffect(() => spotlight.open(), [])
  const go = (to: string) => void navigate({ to })
  const commands: Command[] = [
    ...projectLinks('').map(({ to, label, icon, keywords }) => ({
      id: to,
      label,
      icon,
      ...(keywords ? { keywords } : {}),
      run: ({ id }: Project) => go(to.replace('/projects/', `/projects/${id}`)),
    })),
    { id: 'deploy', label: 'Deploy', icon: IconRocket, run: operations.deploy },
    { id: 'redeploy', label: 'Redeploy', keywords: 'again', icon: IconRefresh, run: operations.redeploy },
    { id: 'restart', label: 'Restart', icon: IconPlayerPlay, run: operations.restart },
    {
      id: 'open',
      label: 'Open in a new tab',
      keywords: 'visit address url',
      icon: IconExternalLink,
      run: (project) => void window.open(addressOf(project), '_blank', 'noopener'),
    },
  ]
  const currentId = /^\/projects\/([^/]+)/.exec(path)?.[1]
  const found = findCommands(query, projects.data ?? [], commands, currentId).map(({ project, command }) => {
    const Picture = command?.icon ?? IconBox
    return {
      id: `${project.id} ${command?.id ?? ''}`,
      label: command ? `${project.name}: ${command.label}` : project.name,
      description: command ? undefined : `${project.slug} · ${statusLabel(project.status)}`,
      leftSection: <Picture size={18} stroke={1.6} />,
      onClick: () => (command ? command.run(project) : go(`/projects/${project.id}`)),
    }
  })
  const entry = ({ to, label, icon: Picture }: NavigationEntry) => ({
    id: to,
    label,
    leftSection: <Picture size={18} stroke={1.6} />,
    onClick: () => go(to),
  })
  const linked = (links: readonly NavigationEntry[]) => links.filter(({ label }) => matchesText(query, label)).map(entry)
  const groups: SpotlightActionGroupData[] = [
    ...(currentId && !query ? [{ group: 'This project', actions: projectLinks(currentId).map(entry) }] : []),
    { group: 'Projects', actions: [...found, ...linked([{ to: '/new', label: 'New project', icon: IconPlus }])] },
    ...organisationLinks.map(({ title, links }) => ({ group: title, actions: linked(links) })),
  ]
  return (
    <Spotlight
      actions={groups.filter(({ actions }) => actions.length > 0)}
      query={query}
      onQueryChange={setQuery}
      // The entries are already those of the query.
      filter={(_, actions) => actions}
      onSpotlightClose={closeCommands}
      nothingFound="No results"
      limit={30}
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
