import type { Db } from '../../../platform/db/schema.ts'
import { type MetricSource, metricSource } from '../../../platform/metrics/metric-source.ts'
import { present } from '../store.ts'

export interface MeteredEnvironment {
  projectId: string
  /** The slug, which the edge's log and the dashboard use too. */
  project: string
  /** The slug of the environment. */
  slug: string
  /** The label: previews share one, since every pull request would add another. */
  environment: string
}

export interface MeteredProject {
  id: string
  slug: string
  name: string
  organizationId: string
  type: string
}

export interface Metered {
  projects: readonly MeteredProject[]
  environments: readonly MeteredEnvironment[]
  /** Projects beyond the limit. */
  omitted: number
}

/** Projects with metrics of their own, the oldest first: the limit bounds the size of a scrape. */
const maxProjects = 5_000
const keptMs = 10_000

/** Returns the projects and environments that have metrics of their own. Sources of one scrape share one result. */
export function createMeteredEnvironments(db: Db): () => Promise<Metered> {
  let latest: { at: number; result: Promise<Metered> } | undefined
  return () => {
    const now = performance.now()
    if (!latest || now - latest.at >= keptMs) {
      const current = { at: now, result: readMetered(db) }
      latest = current
      current.result.catch(() => {
        if (latest === current) latest = undefined
      })
    }
    return latest.result
  }
}

async function readMetered(db: Db): Promise<Metered> {
  const all = db.selectFrom('projects').where('deletingSince', 'is', null).where('presence', 'in', present)
  const { count } = await all.select(({ fn }) => fn.countAll<number>().as('count')).executeTakeFirstOrThrow()
  const projects = await all
    .select(['id', 'slug', 'name', 'organizationId', 'type'])
    .orderBy('createdAt')
    .orderBy('id')
    .limit(maxProjects)
    .execute()
  const slugs = new Map(projects.map(({ id, slug }) => [id, slug]))
  const rows = await db
    .selectFrom('environments')
    .select(['projectId', 'slug', 'pullRequest'])
    .where('deletingSince', 'is', null)
    .execute()
  const environments = rows.flatMap(({ projectId, slug, pullRequest }) => {
    const project = slugs.get(projectId)
    return project === undefined ? [] : [{ projectId, project, slug, environment: pullRequest === null ? slug : 'preview' }]
  })
  return { projects, environments, omitted: Math.max(0, Number(count) - projects.length) }
}

/** Adds up values of the environments that share labels. */
export function sumByLabels(
  { environments }: Metered,
  read: (projectId: string, environment: string) => number | undefined,
): { labels: { project: string; environment: string }; value: number }[] {
  const sums = new Map<string, { labels: { project: string; environment: string }; value: number }>()
  for (const { projectId, project, slug, environment } of environments) {
    const value = read(projectId, slug)
    if (value === undefined) continue
    const key = `${projectId} ${environment}`
    const sum = sums.get(key)
    if (sum) sum.value += value
    else sums.set(key, { labels: { project, environment }, value })
  }
  return [...sums.values()]
}

export const projectMetrics = (metered: () => Promise<Metered>): MetricSource =>
  metricSource(
    {
      berth_projects: { type: 'gauge', help: 'Number of projects.' },
      berth_projects_without_metrics: { type: 'gauge', help: 'Projects beyond the limit, which have no metrics of their own.' },
      berth_project_info: { type: 'gauge', help: 'Name, type and ids of a project; the value is always 1.' },
    },
    async () => {
      const { projects, omitted } = await metered()
      return {
        berth_projects: [{ value: projects.length + omitted }],
        berth_projects_without_metrics: [{ value: omitted }],
        berth_project_info: projects.map(({ id, slug, name, organizationId, type }) => ({
          labels: { project: slug, project_id: id, organization_id: organizationId, name, type },
          value: 1,
        })),
      }
    },
  )
