import type { Project } from '@berth/contract'

/** The projects whose name, slug, status, address or repository contains every word of the search. */
export function findProjects(projects: readonly Project[], search: string): readonly Project[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean)
  if (words.length === 0) return projects
  return projects.filter(({ name, slug, routes, source, status }) => {
    const text = [name, slug, status, source.owner, source.repo, ...routes.map(({ hostname }) => hostname)]
      .join(' ')
      .toLowerCase()
    return words.every((word) => text.includes(word))
  })
}

/** The statuses of the projects with their counts, most frequent first. */
export function countStatuses(projects: readonly Pick<Project, 'status'>[]): [Project['status'], number][] {
  const counts = new Map<Project['status'], number>()
  for (const { status } of projects) counts.set(status, (counts.get(status) ?? 0) + 1)
  return [...counts].sort((a, b) => b[1] - a[1])
}

/** The current URL. An older cloud release returns only the routes. */
export const addressOf = ({ url, routes }: Pick<Project, 'routes' | 'url'>): string | undefined =>
  url ?? (routes.find(({ primary }) => primary) ?? routes[0])?.url

/**
 * The current address, then the free ones. A connected domain that is not the current address may be unverified: it is shown on
 * the page of the domains only.
 */
export function addressesOf(project: Pick<Project, 'routes' | 'url'>): string[] {
  const free = project.routes.filter(({ kind }) => kind === 'free').map(({ url }) => url)
  const current = addressOf(project)
  return [...new Set(current === undefined ? free : [current, ...free])]
}

/** A short description of the source. */
export function sourceText({ source, config }: Pick<Project, 'source'> & { config?: Pick<Project['config'], 'image'> }): string {
  if (source.kind === 'git') {
    const name =
      source.owner && source.repo ? `${source.owner}/${source.repo}` : (source.url ?? 'a repository').replace(/^\w+:\/\//, '')
    return source.branch ? `${name} · ${source.branch}` : name
  }
  if (source.kind === 'local') return source.path ?? 'A folder on the server'
  if (source.kind === 'upload') return 'An uploaded folder'
  return source.kind === 'image' ? (config?.image ?? 'Images') : 'No source yet'
}
