import type { contract } from '@berth/contract'
import type { Handlers } from '../../../http/handler.ts'
import type { ProjectsDeps } from '../deps.ts'
import { commitStatus, linkRepository, listBranches, showRepository } from '../git/repository.ts'

type Rows = Partial<Handlers<typeof contract.projects>>

/** Handlers of a project's repository. */
export function gitHandlers(deps: ProjectsDeps) {
  return {
    getGit: async (_, { project }) => ({ data: await showRepository(project, deps) }),
    commitStatus: async (_, { project }) => ({ data: await commitStatus(project, deps) }),
    linkGit: async ({ body }, { project, caller }) => ({
      data: await showRepository(await linkRepository(project, body, caller, deps), deps),
    }),
    listBranches: async (_, { project }) => ({ data: await listBranches(project, deps) }),
  } satisfies Rows
}
