import type { contract } from '@berth/contract'
import type { Handlers } from '../../../http/handler.ts'
import { knownFrameworks } from '../../../source/detection/known-names.ts'
import type { ProjectsDeps } from '../deps.ts'
import { folderExists, importFolder, listLocal, scanFolder } from '../local/local-folders.ts'
import { showProject, showProjects } from '../records/records.ts'

type Rows = Partial<Handlers<typeof contract.projects>>

/** Handlers of folders on the machine that Berth runs on. */
export function localHandlers(deps: ProjectsDeps) {
  return {
    listLocal: async ({ query }, { caller }) => {
      const listQuery = { ...query, onlyIds: caller.projectIds }
      const { rows, nextCursor } = await listLocal(deps.database.db, caller.organizationId, listQuery)
      const shown = await showProjects(rows, deps)
      const paths = rows.map(({ localPath }) => localPath as string)
      const exists = await Promise.all(paths.map((path) => folderExists(path, deps)))
      return { data: shown.map((project, index) => ({ ...project, path: paths[index]!, exists: exists[index]! })), nextCursor }
    },
    listFrameworks: () => ({ data: knownFrameworks.map((id) => ({ id })) }),
    scan: async ({ body }, { caller }) => ({ data: await scanFolder(body.path, caller, deps) }),
    importFolder: async ({ body }, { caller, audit }) => {
      audit({ objectKind: 'project', made: 'prj' })
      const row = await importFolder(body, caller, deps)
      return { data: await showProject(row, deps) }
    },
  } satisfies Rows
}
