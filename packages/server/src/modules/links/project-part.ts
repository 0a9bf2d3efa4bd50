import type { DeletionItem } from '@berth/contract'
import type { LinkRow, ProjectRow } from '../../platform/db/tables/projects.ts'
import { allLinks, linksTo, type ProjectPart } from '../projects/index.ts'
import type { LinksDeps } from './deps.ts'
import { enqueueNetworkRemoval } from './link-network-job.ts'

/** The links of a project or environment, and how they are deleted with it. Their rows are deleted with the project's own. */
export const linksPart = (deps: LinksDeps): ProjectPart => ({
  describe: 'links',
  previewDeletion: async (project) => deletionItems(await linksOf(project, deps), deps),
  remove: async (project) => removeNetworks(await linksOf(project, deps), project, deps),
  ofEnvironment: {
    previewDeletion: async ({ id }, environment) => deletionItems(await allLinks(deps.database.db, id, environment), deps),
    remove: async (project, environment) =>
      removeNetworks(await allLinks(deps.database.db, project.id, environment), project, deps),
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

const removeNetworks = (links: readonly LinkRow[], project: ProjectRow, { database }: LinksDeps): Promise<void> =>
  database.transaction(async (transaction) => {
    for (const { id } of links) await enqueueNetworkRemoval(id, project, transaction)
  })
