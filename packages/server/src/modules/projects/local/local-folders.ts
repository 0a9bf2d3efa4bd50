import { basename } from 'node:path'
import type { UpdateProject } from '@berth/contract'
import { resolveAllowed } from '../../../drivers/folder/allowed-folder.ts'
import type { Caller } from '../../../http/handler.ts'
import { type Page, page } from '../../../platform/db/pages.ts'
import type { Db } from '../../../platform/db/schema.ts'
import type { ProjectRow } from '../../../platform/db/tables/projects.ts'
import { refuse } from '../../../platform/failure.ts'
import type { Detection } from '../../../source/detection/index.ts'
import type { ProjectsDeps } from '../deps.ts'
import { createProject } from '../lifecycle/create-project.ts'
import { checkNames } from '../settings/config-rules.ts'
import { detectLocal } from '../settings/detect-local.ts'
import { allowedFolder, localRoots } from '../source.ts'
import { present } from '../store.ts'

/** Detects the framework of a folder below the allowed roots. */
export async function scanFolder(path: string, { organizationId }: Caller, deps: ProjectsDeps) {
  const localPath = await allowedFolder(path, 'path', deps)
  return { ...showDetection(await detectLocal(localPath, organizationId)), gitProvider: 'local' as const, localPath }
}

export type ImportBody = UpdateProject & { path: string }

/** Creates a project from a folder. Fields that the body does not name are taken from detection. */
export async function importFolder({ path, ...body }: ImportBody, caller: Caller, deps: ProjectsDeps): Promise<ProjectRow> {
  for (const field of ['gitOwner', 'gitRepo', 'gitUrl', 'uploadSessionId'] as const)
    if (body[field]) refuse(field, 'is not allowed here: the source is the folder at path')
  if (body.gitProvider && body.gitProvider !== 'local') refuse('gitProvider', 'must be local')
  const localPath = await allowedFolder(path, 'path', deps)
  // The result of scanning the folder contains this field too.
  if (body.localPath && body.localPath !== localPath) refuse('localPath', 'is not allowed here: the source is the folder at path')
  checkNames(body)
  const detection = await detectLocal(localPath, caller.organizationId, body)
  const name = body.name ?? detection.name ?? basename(localPath)
  return createProject({ ...detectedFields(detection), ...body, name, gitProvider: 'local', localPath }, caller, deps)
}

const detectable = [
  'framework',
  'packageManager',
  'installCommand',
  'buildCommand',
  'startCommand',
  'outputDirectory',
  'type',
] as const

/** Services are not copied: the Compose file defines them, also after it has changed. */
function detectedFields(detection: Detection): UpdateProject {
  const fields: UpdateProject = {}
  for (const field of detectable) if (detection[field] !== null) Object.assign(fields, { [field]: detection[field] })
  if (detection.port !== null) fields.port = detection.port
  if (detection.rootDirectory) fields.rootDirectory = detection.rootDirectory
  return fields
}

export interface LocalQuery {
  limit?: number
  cursor?: string
  /** null: every project of the organisation. */
  onlyIds: ReadonlySet<string> | null
}

/** Projects whose source is a folder, newest first; `sourceKind` decides the same for one project. */
export function listLocal(
  db: Db,
  organizationId: string,
  { limit = 100, cursor, onlyIds }: LocalQuery,
): Promise<Page<ProjectRow>> {
  if (onlyIds?.size === 0) return Promise.resolve({ rows: [], nextCursor: null })
  let query = db
    .selectFrom('projects')
    .selectAll()
    .where('organizationId', '=', organizationId)
    .where('localPath', 'is not', null)
    .where('presence', 'in', present)
    .where((is) =>
      is.or([is('gitProvider', '=', 'local'), is.and([is('gitProvider', 'is', null), is('uploadSessionId', 'is', null)])]),
    )
  if (onlyIds) query = query.where('id', 'in', [...onlyIds])
  return page(query, { limit, cursor, by: ['createdAt', 'id'], direction: 'desc' })
}

/** Whether the path is an existing folder below the roots, which a deployment could read now. */
export const folderExists = (path: string, { settings }: ProjectsDeps): Promise<boolean> =>
  resolveAllowed(path, localRoots(settings)).then(
    () => true,
    () => false,
  )

/** The detection as the contract shows it. */
export const showDetection = (detection: Detection) => ({ ...detection, apps: detection.apps.map((app) => ({ ...app })) })
