import type { DeletionItem } from '@berth/contract'
import type { LinkRow, ProjectRow } from '../../platform/db/tables/projects.ts'
import { allLinks, linksTo, type ProjectPart } from '../projects/index.ts'
import type { LinksDeps } from './deps.ts'
import { enqueueNetworkRemoval } from './link-network-job.ts'

/** The links of a project or environment, and how they are deleted with it. */
export const linksPart = (deps: LinksDeps): ProjectPart => ({
  describe: 'links',
  previewDeletion: async (project) => deletionItems(await linksOf(project, deps), deps),
  remove: (project) => removeLinks(project, undefined, deps),
  ofEnvironment: {
    previewDeletion: async ({ id }, environment) => deletionItems(await allLinks(deps.database.db, id, environment), deps),
    remove: (project, environment) => removeLinks(project, environment, deps),
  },
})

/** Links of the project to services, and links of other projects to it. */
const linksOf = async ({ id }: Pick<ProjectRow, 'id'>, { database: { db } }: LinksDeps): Promise<LinkRow[]> => [
  ...(await allLinks(db, id)),
  ...(await linksTo(db, id)),
]

const deletionItems = (links: readonly LinkRow[], { projects }: LinksDeps): Promise<DeletionItem[]> =>
  Promise.all(
    links.map(async ({ id, projectId, serviceProjectId }) => {
      const [project, service] = await Promise.all([projects.find(projectId), projects.find(serviceProjectId)])
      return { kind: 'link', id, name: `${project?.name} to ${service?.name}`, sizeBytes: null, kept: false }
    }),
  )

/** Rows and networks in one transaction: while a link exists, a deployment may create its network. */
const removeLinks = (project: ProjectRow, environment: string | undefined, { projects }: LinksDeps): Promise<void> =>
  projects.links.removeAll({ projectId: project.id, ...(environment ? { environment } : {}) }, async (links, transaction) => {
    for (const { id } of links) await enqueueNetworkRemoval(id, project, transaction)
  })
