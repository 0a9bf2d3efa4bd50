import { type EnvChanges, type EnvVariable, limits, secretMask } from '@berth/contract'
import { type Awaitable, thenSync } from '../../../platform/awaitable.ts'
import { iso } from '../../../platform/db/columns.ts'
import { memoizeByRows } from '../../../platform/db/memoize-rows.ts'
import type { Db } from '../../../platform/db/schema.ts'
import { sealedFor } from '../../../platform/db/sealed-columns.ts'
import type { EnvVariableRow, ProjectRow } from '../../../platform/db/tables/projects.ts'
import { fail, refuse } from '../../../platform/failure.ts'
import { nowOf, type ProjectsDeps } from '../deps.ts'
import { openCloneToken } from '../git/clone-token.ts'
import { raiseLinkedVersions } from '../link-store.ts'
import { changeProject } from '../operations/change-project.ts'
import { type ProjectSignal, projectsTopic } from '../project-signal.ts'
import { requireEnvironment } from '../require-environment.ts'
import { deleteVariables, findAnyProject, findEnvironment, listVariables, upsertVariable } from '../store.ts'
import { fitsEnv, refuseLargeEnv, refuseLargeProject, sizeOf } from './env-bounds.ts'

/** Answers with the variables of an environment, sorted by key; a secret's value is masked. */
export function createEnvResponses(deps: ProjectsDeps) {
  const { db } = deps.database
  const shownOf = memoizeByRows(
    (row: EnvVariableRow): EnvVariable => ({
      key: row.key,
      value: row.isSecret ? secretMask : openValue(row, deps),
      isSecret: row.isSecret === 1,
      environment: row.environment,
      updatedAt: iso(row.updatedAt),
    }),
  )
  const responseOf = memoizeByRows((rows: readonly EnvVariableRow[]) => ({ data: rows.map((row) => shownOf(row)) }))
  return (project: Pick<ProjectRow, 'id'>, environment: string): Awaitable<{ data: EnvVariable[] }> =>
    thenSync(requireEnvironment(db, project.id, environment), ({ slug }) =>
      thenSync(listVariables(db, project.id, slug), responseOf),
    )
}

/** Merges: changes only the named keys, all of them or none. */
export async function changeEnv(project: ProjectRow, changes: EnvChanges, deps: ProjectsDeps): Promise<void> {
  const { environment: name = 'production', upserts = [], deletes = [] } = changes
  refuseInvalidVariables(upserts, deletes)
  let changedRows: EnvVariableRow[] = []
  let linked: string[] = []
  await changeProject(project, deps, async ({ id, envVersion }, { db, signal }) => {
    const { slug: environment, deletingSince } = await requireEnvironment(db, id, name)
    if (deletingSince !== null) fail('conflict', { message: `The environment ${environment} is being deleted` })
    const stored = new Map((await listVariables(db, id, environment)).map((row) => [row.key, row]))
    const rows = upserts.map((upsert, index) =>
      mergeVariable(upsert, stored.get(upsert.key), index, { projectId: id, environment }, deps),
    )
    changedRows = rows.filter((row) => row !== null)
    if (changedRows.length > 0) refuseOversize(stored, changedRows, deletes, environment, deps)
    for (const row of changedRows) await upsertVariable(db, row)
    await deleteVariables(db, id, environment, deletes)
    // What does not grow cannot exceed the limit.
    if (changedRows.some((row) => row.value.length > (stored.get(row.key)?.value.length ?? 0)))
      await refuseLargeProject(db, id, 'upserts')
    if (changedRows.length === 0 && !deletes.some((key) => stored.has(key))) return null
    if (environment !== 'production') return {}
    linked = await raiseLinkedVersions(db, id)
    for (const projectId of linked) signal(projectsTopic, { projectId, sameRoutes: true } satisfies ProjectSignal)
    return { envVersion: envVersion + 1 }
  })
  for (const row of changedRows) if (row.isSecret) deps.scrubber.register(openValue(row, deps))
  for (const projectId of [project.id, ...linked]) await deps.projectPorts.secrets?.refresh(projectId)
}

function refuseOversize(
  stored: ReadonlyMap<string, EnvVariableRow>,
  changedRows: readonly EnvVariableRow[],
  deletes: readonly string[],
  environment: string,
  deps: ProjectsDeps,
): void {
  const after = new Map(stored)
  for (const row of changedRows) after.set(row.key, row)
  for (const key of deletes) after.delete(key)
  // A sealed value is longer than its value: only large environments are decrypted.
  if (fitsEnv(sizeOf(after.values()))) return
  const size = (rows: ReadonlyMap<string, EnvVariableRow>) => sizeOf([...rows.values()].map((row) => openVariable(row, deps)))
  refuseLargeEnv(size(after), 'upserts', environment, size(stored))
}

/** Warnings about variables whose value a running project does not get, because Berth sets them itself. */
export function replacedVariables({ type }: Pick<ProjectRow, 'type'>, { upserts = [] }: EnvChanges): string[] {
  const isReplaced = (type === 'app' || type === 'services') && upserts.some(({ key }) => key === 'PORT')
  return isReplaced ? [portWarning] : []
}

const portWarning =
  "PORT is set by Berth: a running project gets the port it must listen on there, not this value. Set the project's `port` to choose the port."

export interface NewVariable {
  key: string
  value: string
  isSecret: boolean
}

/** Inserts the first variables of a new project. */
export async function insertVariables(
  db: Db,
  { id: projectId }: ProjectRow,
  upserts: readonly NewVariable[],
  deps: ProjectsDeps,
): Promise<void> {
  refuseInvalidVariables(upserts, [])
  refuseLargeEnv(sizeOf(upserts), 'upserts', 'production')
  for (const [index, upsert] of upserts.entries()) {
    const row = mergeVariable(upsert, undefined, index, { projectId, environment: 'production' }, deps)
    if (row) await upsertVariable(db, row)
  }
  deps.scrubber.register(...upserts.flatMap(({ isSecret, value }) => (isSecret ? [value] : [])))
}

/** Copies the variables of an environment, secrets included, into a new one. */
export async function copyVariables(
  db: Db,
  { projectId, from, to }: { projectId: string; from: string; to: string },
  deps: ProjectsDeps,
): Promise<void> {
  const rows = await listVariables(db, projectId, from)
  for (const [index, row] of rows.entries()) {
    const upsert = { key: row.key, value: openValue(row, deps), isSecret: row.isSecret === 1 }
    const copy = mergeVariable(upsert, undefined, index, { projectId, environment: to }, deps)
    if (copy) await upsertVariable(db, copy)
  }
  if (rows.length > 0) await refuseLargeProject(db, projectId, 'cloneFrom')
}

export interface OpenedEnv {
  /** The values as set, unchanged. */
  values: Record<string, string>
  secretKeys: string[]
}

/** Decrypts the variables for building and running the project. From then on secrets are redacted from the instance's own log. */
export async function openEnv(
  projectId: string,
  environment: string,
  deps: ProjectsDeps,
  { fromFork = false }: { fromFork?: boolean } = {},
): Promise<OpenedEnv> {
  const environments = await variableSources(projectId, environment, fromFork, deps)
  const variables = await Promise.all(environments.map((slug) => listVariables(deps.database.db, projectId, slug)))
  const rows = [...new Map(variables.flat().map((row) => [row.key, row])).values()].sort(byKey)
  const opened = rows.map((row) => ({ ...row, value: openValue(row, deps) }))
  const secrets = opened.filter(({ isSecret }) => isSecret)
  deps.scrubber.register(...secrets.map(({ value }) => value))
  return {
    values: Object.fromEntries(opened.map(({ key, value }) => [key, value])),
    secretKeys: secrets.map(({ key }) => key),
  }
}

/** Slug of the environment whose variables all previews share. */
const sharedByPreviews = 'preview'

/**
 * The environments whose variables apply, the last one taking precedence. The preview of a pull request gets those shared by
 * previews and its own; production's only where a user with `project:admin` has enabled it, and never where the environment or
 * the deployed source (`fromFork`) comes from a fork: the environment of a number may have belonged to another pull request.
 */
export async function variableSources(
  projectId: string,
  environment: string,
  fromFork: boolean,
  { database: { db } }: ProjectsDeps,
): Promise<string[]> {
  const row = await findEnvironment(db, projectId, environment)
  if (row?.pullRequest == null) return [environment]
  const project = await findAnyProject(db, projectId)
  const isTrusted = project?.previewsUseProduction === 1 && row.fromFork === 0 && !fromFork
  return [...(isTrusted ? ['production'] : []), sharedByPreviews, environment]
}

/** Every secret of the project, of all environments, for redaction. */
export async function openSecrets(projectId: string, deps: ProjectsDeps): Promise<string[]> {
  const { db } = deps.database
  const rows = await db
    .selectFrom('envVariables')
    .selectAll()
    .where('projectId', '=', projectId)
    .where('isSecret', '=', 1)
    .execute()
  const project = await findAnyProject(db, projectId)
  const cloneToken = project && openCloneToken(project, deps)
  return [...rows.map((row) => openValue(row, deps)), ...(cloneToken ? [cloneToken.reveal()] : [])]
}

type Upsert = NonNullable<EnvChanges['upserts']>[number]

export function refuseInvalidVariables(upserts: readonly Upsert[], deletes: readonly string[]): void {
  const seen = new Set<string>()
  const refuseDuplicate = (key: string, field: string) => {
    if (seen.has(key)) refuse(field, `${key} is named twice`)
    seen.add(key)
  }
  upserts.forEach(({ key, value }, index) => {
    refuseDuplicate(key, `upserts.${index}.key`)
    if (Buffer.byteLength(value) > limits.envValueBytes)
      refuse(`upserts.${index}.value`, `must not be longer than ${limits.envValueBytes} bytes`)
    // An environment variable cannot contain NUL, and an unpaired surrogate has no UTF-8 encoding.
    if (value.includes('\0') || !value.isWellFormed())
      refuse(`upserts.${index}.value`, 'contains a character that is not allowed in environment variables')
  })
  for (const [index, key] of deletes.entries()) refuseDuplicate(key, `deletes.${index}`)
}

/** The new row of a key; null leaves it unchanged. The mask stands for the stored value and is never stored itself. */
function mergeVariable(
  { key, value, isSecret }: Upsert,
  stored: EnvVariableRow | undefined,
  index: number,
  { projectId, environment }: { projectId: string; environment: string },
  deps: ProjectsDeps,
): EnvVariableRow | null {
  const secretFlag = isSecret === undefined ? (stored?.isSecret ?? 0) : isSecret ? 1 : 0
  const columns = { projectId, environment, key, isSecret: secretFlag, updatedAt: nowOf(deps) } as const
  if (value !== secretMask && stored?.isSecret === secretFlag && openValue(stored, deps) === value) return null
  if (value !== secretMask)
    return { ...columns, value: deps.secretBox.seal(value, sealedFor.envVariable(projectId, environment, key)) }
  if (!stored) refuse(`upserts.${index}.value`, 'is a masked secret, but no value is stored')
  if (stored.isSecret && !secretFlag) refuse(`upserts.${index}.isSecret`, 'a secret can be made visible only with a new value')
  return stored.isSecret === secretFlag ? null : { ...columns, value: stored.value }
}

export const openVariable = (row: EnvVariableRow, deps: ProjectsDeps) => ({
  key: row.key,
  value: openValue(row, deps),
  isSecret: row.isSecret === 1,
})

const openValue = ({ projectId, environment, key, value }: EnvVariableRow, { secretBox }: ProjectsDeps): string =>
  secretBox.open(value, sealedFor.envVariable(projectId, environment, key)).reveal()

const byKey = (left: EnvVariableRow, right: EnvVariableRow) => (left.key < right.key ? -1 : 1)
