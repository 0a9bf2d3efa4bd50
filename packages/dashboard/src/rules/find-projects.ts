import type { Project } from '@berth/contract'

/** Those whose name, slug, address or repository holds every word that was typed. */
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

/** The address that works now. A linked cloud of an earlier release tells only the routes. */
export const addressOf = ({ url, routes }: Pick<Project, 'routes' | 'url'>): string | undefined =>
  url ?? (routes.find(({ primary }) => primary) ?? routes[0])?.url

/** Where the code comes from, in a few words. */
export function sourceWords({ source, config }: Pick<Project, 'source'> & { config?: Pick<Project['config'], 'image'> }): string {
  if (source.kind === 'git') {
    const name =
      source.owner && source.repo ? `${source.owner}/${source.repo}` : (source.url ?? 'a repository').replace(/^\w+:\/\//, '')
    return source.branch ? `${name} · ${source.branch}` : name
  }
  if (source.kind === 'local') return source.path ?? 'A folder of the server'
  if (source.kind === 'upload') return 'An uploaded folder'
  return source.kind === 'image' ? (config?.image ?? 'Images') : 'No source yet'
}
