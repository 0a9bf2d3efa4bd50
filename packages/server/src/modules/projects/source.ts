import { hasPermission, type ProjectSource, type UpdateProject } from '@berth/contract'
import {
  FolderMissing,
  FolderOutside,
  FolderUnreadable,
  NotAFolder,
  resolveAllowed,
} from '../../drivers/folder/allowed-folder.ts'
import { RemoteRefused } from '../../drivers/git/git-errors.ts'
import { refuseNonPublicHost } from '../../drivers/git/public-addresses.ts'
import { parseRemote } from '../../drivers/git/remote.ts'
import type { Caller } from '../../http/handler.ts'
import { projectJson } from '../../platform/db/json-columns/projects.ts'
import type { EnvironmentRow, ProjectRow } from '../../platform/db/tables/projects.ts'
import { fail, refuse } from '../../platform/failure.ts'
import type { Source } from './deployment-source.ts'
import type { ProjectsDeps } from './deps.ts'
import { type HostUrls, isSameHost, providerOf, replaceRepository, repositoryOf } from './git-remote.ts'
import type { ProjectChanges } from './store.ts'

export type SourceFields = Pick<
  UpdateProject,
  'gitProvider' | 'gitOwner' | 'gitRepo' | 'gitBranch' | 'gitUrl' | 'localPath' | 'uploadSessionId' | 'image' | 'serverId'
>
export type SourceRow = Pick<
  ProjectRow,
  'gitProvider' | 'gitOwner' | 'gitRepo' | 'gitBranch' | 'gitUrl' | 'localPath' | 'uploadSessionId' | 'image' | 'services'
>

type RemoteColumns = Pick<SourceRow, 'gitProvider' | 'gitOwner' | 'gitRepo' | 'gitUrl'>

/**
 * An image takes precedence. Otherwise the provider decides if one is set; fields of other kinds of source are kept in case
 * they are chosen again.
 */
export function sourceKind(row: SourceRow): ProjectSource['kind'] {
  const { gitProvider, gitOwner, gitRepo, gitUrl, localPath, uploadSessionId, image } = row
  if (image) return 'image'
  if (gitProvider === 'upload' || (!gitProvider && uploadSessionId)) return 'upload'
  if (localPath && (gitProvider === 'local' || !gitProvider)) return 'local'
  if (gitProvider !== 'local' && (gitUrl || (gitOwner && gitRepo))) return 'git'
  return hasImages(row) ? 'image' : 'none'
}

type SourceEnvironment = Pick<EnvironmentRow, 'slug' | 'branch' | 'pullRequest' | 'uploadSessionId'>

/** Whether the environment has its own branch of the repository. */
const hasOwnBranch = (project: SourceRow, { branch, pullRequest }: SourceEnvironment): boolean =>
  sourceKind(project) === 'git' && (branch !== null || pullRequest !== null)

/**
 * The source that the next deployment of an environment builds: the upload of its newest deployment, else production's upload,
 * else the project's own source. Undefined where there is none.
 */
export function nextSource(
  project: SourceRow,
  environment: SourceEnvironment,
  production: Pick<EnvironmentRow, 'uploadSessionId'> | undefined,
  urls: HostUrls,
): Source | undefined {
  if (project.image) return { kind: 'image' }
  const inherited = hasOwnBranch(project, environment) ? null : production?.uploadSessionId
  const sessionId = environment.uploadSessionId ?? inherited
  return sessionId ? { kind: 'upload', sessionId } : projectSource(project, environment, urls)
}

/** The project's own source, without the uploads of deployments. */
export function projectSource(
  project: SourceRow,
  { branch }: Pick<EnvironmentRow, 'branch'>,
  urls: HostUrls,
): Source | undefined {
  const kind = sourceKind(project)
  if (kind === 'upload') return project.uploadSessionId ? { kind, sessionId: project.uploadSessionId } : undefined
  if (kind === 'local') return project.localPath ? { kind, path: project.localPath } : undefined
  if (kind === 'image') return { kind }
  const url = kind === 'git' ? remoteUrl(project, urls) : null
  return url === null ? undefined : { kind: 'git', url, branch: branch ?? project.gitBranch }
}

/** Whether production's upload is the project's own source: true unless a repository, a folder or images are. */
export const isUploadProject = (project: SourceRow): boolean => ['upload', 'none'].includes(sourceKind(project))

const hasImages = (row: SourceRow): boolean => projectJson.services(row).some(({ image }) => image)

/** The source as the contract shows it. `commit` is the commit that is live. */
export function showSource(row: SourceRow, commit: string | null, urls: HostUrls): ProjectSource {
  const kind = sourceKind(row)
  const isGit = kind === 'git'
  return {
    kind,
    provider: row.image ? null : row.gitProvider,
    owner: isGit ? row.gitOwner : null,
    repo: isGit ? row.gitRepo : null,
    branch: isGit ? row.gitBranch : null,
    url: isGit ? remoteUrl(row, urls) : null,
    path: kind === 'local' ? row.localPath : null,
    ...(kind === 'upload' ? { uploadSessionId: row.uploadSessionId } : {}),
    commit,
  }
}

/** The source of a deployment as the contract shows a project's. */
export function deployedSource({ source, commit }: { source: Source; commit: string | null }, urls: HostUrls): ProjectSource {
  const { kind } = source
  const repository = kind === 'git' ? repositoryOf(source.url) : null
  return {
    kind,
    provider: kind === 'git' ? providerOf(source.url, urls) : kind === 'image' ? null : kind,
    owner: repository?.owner ?? null,
    repo: repository?.repo ?? null,
    branch: kind === 'git' ? source.branch : null,
    url: kind === 'git' ? source.url : null,
    path: kind === 'local' ? source.path : null,
    ...(kind === 'upload' ? { uploadSessionId: source.sessionId } : {}),
    commit,
  }
}

/** The URL that git fetches from; null where the provider's host is unknown. */
export function remoteUrl({ gitProvider, gitOwner, gitRepo, gitUrl }: RemoteColumns, urls: HostUrls): string | null {
  if (gitUrl) return gitUrl
  if (!gitOwner || !gitRepo) return null
  const host = gitProvider === 'github' || gitProvider === 'gitlab' || gitProvider === 'gitea' ? urls[gitProvider] : null
  return host && `${host}/${gitOwner}/${gitRepo}.git`
}

/** The caller who changes a project's server, and the current one. */
interface ServerChoice {
  current: Pick<ProjectRow, 'serverId'> | null
  caller: Caller
}

/** Choosing a project's server needs `server:write`; moving it back to this machine does not. */
function checkServerPermission(serverId: string, { current, caller }: ServerChoice): void {
  const tag = 'server:write'
  if (serverId === current?.serverId || hasPermission(caller, tag)) return
  fail('forbidden', {
    field: 'serverId',
    permission: tag,
    message: `Permission ${tag} is required to choose the server of a project`,
  })
}

/**
 * Checks fields that depend on the machine: a folder must be readable (returned as its real path), and a server must belong to
 * the organisation.
 */
export async function checkSource<Fields extends SourceFields>(
  fields: Fields,
  organizationId: string,
  deps: ProjectsDeps,
  serverChoice?: ServerChoice,
): Promise<Fields> {
  const { gitUrl, localPath, serverId } = fields
  if (serverId && !(await deps.projectPorts.servers?.has(organizationId, serverId))) refuse('serverId', 'does not exist')
  if (serverId && serverChoice) checkServerPermission(serverId, serverChoice)
  return {
    ...fields,
    ...(gitUrl ? { gitUrl: checkedRemote(gitUrl, deps) } : {}),
    ...(localPath ? { localPath: await allowedFolder(localPath, 'localPath', deps) } : {}),
  }
}

function checkedRemote(gitUrl: string, { settings }: ProjectsDeps): string {
  try {
    const { scheme, host, url } = parseRemote(gitUrl)
    // Plain http is for loopback only; on a shared service that is not the user's machine.
    if (scheme === 'http' && settings.mode === 'cloud') throw new RemoteRefused('is not encrypted; use https')
    if (settings.mode === 'cloud') refuseNonPublicHost(host)
    return url
  } catch (error) {
    if (error instanceof RemoteRefused) refuse('gitUrl', error.message)
    throw error
  }
}

/** Whether the changes point git at another host. Removing the repository counts as another host: the token is deleted. */
export function changesGitHost(current: ProjectRow, changes: ProjectChanges, urls: HostUrls): boolean {
  const before = remoteUrl(current, urls)
  const after = remoteUrl({ ...current, ...(changes as Partial<ProjectRow>) }, urls)
  if (before === null || after === null) return before !== after
  return !isSameHost(before, after)
}

/** The columns of the given source fields, which must have been checked. An incomplete source is refused. */
export function sourceColumns(fields: SourceFields, current: SourceRow | null, urls: HostUrls): ProjectChanges {
  if (fields.image) return imageColumns(fields)
  const provider = chosenProvider(fields, current, urls)
  const columns: ProjectChanges = provider === undefined ? {} : { gitProvider: provider }
  if (fields.image === null || (current?.image && nonImageFields.some((field) => fields[field]))) columns.image = null
  for (const field of ['gitBranch', 'localPath', 'uploadSessionId', 'serverId'] as const)
    if (fields[field] !== undefined) columns[field] = fields[field]
  Object.assign(columns, repositoryColumns(fields, current, provider))
  return { ...columns, ...completeSource(fields, { ...(current ?? noSource), ...(columns as Partial<SourceRow>) }) }
}

/** An image project has no other source: nothing is built, and no push deploys it. */
function imageColumns(fields: SourceFields): ProjectChanges {
  const other = nonImageFields.find((field) => fields[field])
  if (other) refuse(other, 'cannot be combined with `image`')
  const { services: _services, ...emptySource } = noSource
  return { ...emptySource, image: fields.image ?? null, ...(fields.serverId === undefined ? {} : { serverId: fields.serverId }) }
}

/** A field of one kind of source selects that kind, also where the provider is null. */
function chosenProvider(fields: SourceFields, current: SourceRow | null, urls: HostUrls): string | undefined {
  if (fields.gitProvider) return fields.gitProvider
  const git = fields.gitUrl || fields.gitOwner || fields.gitRepo
  const namedProvider = [git && 'git', fields.localPath && 'local', fields.uploadSessionId && 'upload'].filter(Boolean)
  if (namedProvider.length > 1) refuse('gitProvider', `is required to choose between ${namedProvider.join(' and ')}`)
  if (fields.uploadSessionId) return 'upload'
  if (fields.localPath) return 'local'
  if (fields.gitUrl) return providerOf(fields.gitUrl, urls)
  if (!git) return undefined
  const currentProvider = current?.gitProvider
  return currentProvider && currentProvider !== 'local' && currentProvider !== 'upload' ? currentProvider : 'github'
}

const fieldsOfKind = {
  git: ['gitOwner', 'gitRepo', 'gitUrl', 'gitBranch'],
  local: ['localPath'],
  upload: ['uploadSessionId'],
} as const

const nonImageFields = ['gitProvider', ...Object.values(fieldsOfKind).flat()] as const

/** Refuses a source that lacks a field. Where all given fields are null, the source is cleared. */
function completeSource(fields: SourceFields, wanted: SourceRow): ProjectChanges {
  if (nonImageFields.every((field) => fields[field] === undefined)) return {}
  const hasSourceField = nonImageFields.some((field) => fields[field])
  const kind = kindOfProvider(wanted.gitProvider)
  if (hasSourceField) refuseOtherKinds(fields, kind)
  const missing = missingField(wanted, fields)
  if (!missing) return {}
  if (hasSourceField) refuse(missing, `is required for a source of the provider ${wanted.gitProvider ?? 'github'}`)
  return { gitProvider: null, gitOwner: null, gitRepo: null, gitUrl: null }
}

const kindOfProvider = (provider: string | null): keyof typeof fieldsOfKind | null =>
  provider === 'local' || provider === 'upload' ? provider : provider ? 'git' : null

function refuseOtherKinds(fields: SourceFields, kind: keyof typeof fieldsOfKind | null): void {
  for (const [other, names] of Object.entries(fieldsOfKind))
    for (const name of names)
      if (kind && other !== kind && fields[name]) refuse(name, `cannot be combined with a source of the kind ${kind}`)
}

/** The field that the source lacks. An upload may come with the deployment, so its provider needs no other field. */
function missingField(wanted: SourceRow, { gitBranch, gitProvider: namedProvider }: SourceFields) {
  const { gitProvider, gitOwner, gitRepo, gitUrl, localPath, uploadSessionId } = wanted
  if (gitProvider === 'upload') return namedProvider === null && !uploadSessionId ? 'uploadSessionId' : null
  if (gitProvider === 'local') return localPath ? null : 'localPath'
  if (gitUrl) return null
  if (gitProvider === 'git') return 'gitUrl'
  if (gitOwner && gitRepo) return null
  return gitProvider || gitOwner || gitRepo || gitBranch ? (gitOwner ? 'gitRepo' : 'gitOwner') : null
}

export const noSource: SourceRow = {
  ...{ gitProvider: null, gitOwner: null, gitRepo: null, gitBranch: null, gitUrl: null },
  ...{ localPath: null, uploadSessionId: null, image: null, services: '[]' },
}

/** URL and owner/repo name the same repository: the given one is stored, the other is derived. */
function repositoryColumns(
  { gitOwner, gitRepo, gitUrl }: SourceFields,
  current: SourceRow | null,
  provider: string | undefined,
): ProjectChanges {
  const names = { ...(gitOwner === undefined ? {} : { gitOwner }), ...(gitRepo === undefined ? {} : { gitRepo }) }
  if (gitUrl) {
    const repository = repositoryOf(gitUrl)
    return { gitUrl, gitOwner: repository?.owner ?? null, gitRepo: repository?.repo ?? null, ...names }
  }
  if (gitUrl === null || Object.keys(names).length === 0) return gitUrl === null ? { gitUrl, ...names } : {}
  const owner = gitOwner ?? current?.gitOwner
  const repo = gitRepo ?? current?.gitRepo
  const keepsHost = current?.gitUrl && owner && repo && (provider === undefined || provider === current.gitProvider)
  return { ...names, gitUrl: keepsHost ? replaceRepository(current.gitUrl as string, { owner, repo }) : null }
}

/** Folders below which a project's local source must be. */
export const localRoots = ({ projectRoots, dataDir }: ProjectsDeps['settings']) => ({ roots: projectRoots, dataDir })

/** The real path of a readable folder below the roots; anything else responds 400 and names the field. */
export async function allowedFolder(path: string, field: string, { settings }: Pick<ProjectsDeps, 'settings'>): Promise<string> {
  if (settings.mode === 'cloud') refuse(field, 'is only for self-hosted instances')
  try {
    return await resolveAllowed(path, localRoots(settings))
  } catch (error) {
    const isFolderError = [FolderOutside, FolderMissing, NotAFolder, FolderUnreadable].some((kind) => error instanceof kind)
    if (isFolderError) refuse(field, (error as Error).message)
    throw error
  }
}
