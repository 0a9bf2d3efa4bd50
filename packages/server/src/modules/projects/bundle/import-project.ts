import type { ProjectBundle } from '@berth/contract'
import { newId } from '../../../platform/db/ids.ts'
import { sealedFor } from '../../../platform/db/sealed-columns.ts'
import type { ProjectRow } from '../../../platform/db/tables/projects.ts'
import { fail } from '../../../platform/failure.ts'
import type { TransactionContext } from '../../../platform/transaction.ts'
import type { TransferredGrant } from '../../access/index.ts'
import { carriedColumn } from '../carried-parts.ts'
import { nowOf, type ProjectsDeps } from '../deps.ts'
import { configColumns, defaults, refuseUnstorable } from '../fields.ts'
import { cloneTokenColumns, noCloneToken } from '../git/clone-token.ts'
import { hostUrlsOf } from '../git-remote.ts'
import { freeHostname, isInstanceSlug } from '../hostnames/hostnames.ts'
import { emptyProject } from '../lifecycle/create-project.ts'
import { lockProject } from '../operations/operation.ts'
import { type ProjectSignal, projectsTopic } from '../project-signal.ts'
import { refuseOverQuota } from '../quotas/quotas.ts'
import { refuseLargeRules, refuseManyRules } from '../rules/rule-bounds.ts'
import { checkedRules, replaceRules } from '../rules/rules.ts'
import { checkConfig } from '../settings/config-rules.ts'
import { refuseInvalidVariables } from '../settings/env.ts'
import { refuseLargeEnv, refuseLargeProject, sizeOf } from '../settings/env-bounds.ts'
import { randomSlug } from '../slug.ts'
import { checkSource, sourceColumns } from '../source.ts'
import {
  changeEnvironment,
  deleteAllVariables,
  domainsOf,
  findAnyProject,
  findEnvironment,
  insertEnvironment,
  insertProject,
  type NewProject,
  renameEnvironment,
  saveProject,
  takenSlugs,
  upsertVariable,
} from '../store.ts'
import { claimUpload, clearEnvironmentUpload, releaseUpload } from '../uploads/upload-claim.ts'
import { isUnexpired } from './export-project.ts'
import { replaceDomains } from './import-domains.ts'

export interface ProjectImport {
  projectId: string
  organizationId: string
  bundle: ProjectBundle
  /** Upload session of the bundle's files, if it has any. */
  uploadSessionId: string | null
}

export interface ImportResult {
  /** Parts of the project that were changed or left out during the import. */
  warnings: string[]
}

/**
 * Records the project of a bundle, hidden until its presence is `here`. Validated like a client's request to this instance: a
 * bundle from another instance is untrusted input. May be repeated, also with a newer bundle.
 */
export async function recordImport(projectImport: ProjectImport, deps: ProjectsDeps): Promise<ImportResult> {
  const { bundle, organizationId } = projectImport
  refuseUnstorable({ ...bundle, environments: bundle.environments.map(({ variables: _, ...rest }) => rest) })
  checkConfig(bundle.options)
  for (const { slug, variables } of bundle.environments) {
    refuseInvalidVariables(variables, [])
    refuseLargeEnv(sizeOf(variables), 'environments', slug)
  }
  const source = await checkSource(sourceFields(projectImport), organizationId, deps)
  const activeRules = bundle.rules.filter((rule) => isUnexpired(rule, nowOf(deps)))
  const rules = checkedRules(activeRules, nowOf(deps))
  refuseLargeRules(rules, 'rules')
  const result = await deps.database.transaction(async (transaction) => {
    await lockProject(transaction, projectImport.projectId)
    const before = await refuseExisting(projectImport, transaction)
    const warnings: string[] = []
    const columns = { ...columnsOf(bundle), ...sourceColumns(source, null, hostUrlsOf(deps.settings)) }
    const project = await upsertProject(before, columns, projectImport, warnings, transaction, deps)
    await replaceUpload(before, projectImport, transaction, deps)
    await importEnvironments(bundle, project, transaction, deps)
    await setProductionUpload(projectImport, transaction, deps)
    await replaceDomains(bundle.domains, project, warnings, transaction, deps)
    // Route rules exist only on self-hosted instances: a cloud has no API to see or change them, so it enforces none.
    const hasEdgeRules = deps.settings.mode === 'self-hosted'
    await replaceRules(transaction.db, project.id, hasEdgeRules ? rules : [], nowOf(deps))
    if (hasEdgeRules) await refuseManyRules(transaction, project, 'rules')
    if (!hasEdgeRules) warnings.push(...activeRules.map(inactiveRuleWarning))
    await saveProject(transaction.db, project.id, {
      webhookDomain: await webhookDomainOf(bundle, project, warnings, transaction, deps),
      carried: carriedColumn({
        rules: hasEdgeRules ? [] : activeRules,
        grants: await importGrants(bundle, project, warnings, transaction, deps),
        folderUploadId: (bundle.source.isFolderCopy ?? bundle.source.ofFolder) ? projectImport.uploadSessionId : null,
      }),
    })
    await refuseOverQuota(transaction, organizationId, ['projects', 'cpuCores', 'memoryMb'], deps)
    transaction.signal(projectsTopic, { projectId: project.id } satisfies ProjectSignal)
    return { warnings }
  })
  deps.scrubber.register(
    ...bundle.environments.flatMap(({ variables }) => variables.filter((one) => one.isSecret).map((one) => one.value)),
  )
  await deps.projectPorts.secrets?.refresh(projectImport.projectId)
  return result
}

/** Refuses to overwrite another organisation's project with that id, or a project that lives on this instance. */
async function refuseExisting(
  { projectId, organizationId }: ProjectImport,
  { db }: TransactionContext,
): Promise<ProjectRow | undefined> {
  const row = await findAnyProject(db, projectId)
  if (!row) return undefined
  const isReplaceable = row.organizationId === organizationId && (row.presence === 'departed' || row.presence === 'arriving')
  if (!isReplaceable) fail('already_there')
  if (row.deletingSince !== null) fail('conflict', { message: 'An earlier import is still being removed. Try again.' })
  return row
}

function sourceFields({ bundle, uploadSessionId }: ProjectImport) {
  const { kind, ...git } = bundle.source
  if (kind === 'upload') return { gitProvider: 'upload' as const, uploadSessionId }
  return kind === 'git' ? git : {}
}

/** Columns for a bundle without a port: only a port that a user chose is exported. */
const detectedPort = { port: defaults.port, portChosen: 0 } as const

const columnsOf = (bundle: ProjectBundle) => ({
  ...configColumns(bundle.options),
  ...(bundle.options.port === undefined ? detectedPort : {}),
  name: bundle.name.trim(),
  detected: bundle.detected ? JSON.stringify(bundle.detected) : null,
  enabled: bundle.enabled ? (1 as const) : (0 as const),
  resources: JSON.stringify(bundle.resources),
  previewsUseProduction: bundle.previewsUseProduction ? (1 as const) : (0 as const),
})

async function upsertProject(
  before: ProjectRow | undefined,
  columns: Partial<NewProject>,
  { projectId, organizationId, bundle }: ProjectImport,
  warnings: string[],
  { db }: TransactionContext,
  deps: ProjectsDeps,
): Promise<ProjectRow> {
  const now = nowOf(deps)
  const token = bundle.cloneToken === null ? noCloneToken : cloneTokenColumns(projectId, bundle.cloneToken, deps)
  const envVersion = (before?.envVersion ?? 0) + 1
  const row = { ...columns, ...token, envVersion, presence: 'arriving' as const, updatedAt: now }
  if (before) return saveProject(db, projectId, row)
  const isTaken = (await takenSlugs(db, [bundle.slug])).has(bundle.slug) || isInstanceSlug(bundle.slug, deps)
  const slug = isTaken ? randomSlug(bundle.slug.slice(0, 50).replace(/-+$/, '')) : bundle.slug
  if (isTaken) warnings.push(`The slug ${bundle.slug} is already used at the target. The new slug is ${slug}.`)
  const inserted = await insertProject(db, {
    ...emptyProject(organizationId, now),
    ...row,
    ...(bundle.createdAt ? { createdAt: Math.min(Date.parse(bundle.createdAt), now) } : {}),
    name: bundle.name,
    id: projectId,
    slug,
  })
  return inserted ?? fail('slug_taken')
}

function inactiveRuleWarning({ kind, pathPrefix, hostname }: ProjectBundle['rules'][number]): string {
  const scope = [hostname, pathPrefix].filter((part) => part != null).join('')
  return `The edge rule ${kind}${scope ? ` for ${scope}` : ''} is not active at the target: a cloud has no edge rules. It is active again when the project is transferred back`
}

/** Imports the grants. Returns those that cannot apply here and adds a warning for each: a grant may have lowered a user's level. */
async function importGrants(
  { grants }: ProjectBundle,
  project: ProjectRow,
  warnings: string[],
  { db }: TransactionContext,
  deps: ProjectsDeps,
): Promise<TransferredGrant[]> {
  if (!grants) return []
  const refused = await deps.grants.replace(project, grants, db)
  for (const { email, level, reason } of refused)
    warnings.push(`The grant of ${email} (level ${level}) is not active at the target: ${email} ${reason}`)
  return refused.map(({ email, level }) => ({ email, level }))
}

/** A host name that the project does not have on this instance is left out, with a warning. */
async function webhookDomainOf(
  { webhookDomain }: ProjectBundle,
  project: ProjectRow,
  warnings: string[],
  { db }: TransactionContext,
  { settings }: ProjectsDeps,
): Promise<string | null> {
  if (!webhookDomain) return null
  if (webhookDomain.hostname === null) return freeHostname(project, settings.baseDomain)
  const hostname = webhookDomain.hostname.toLowerCase()
  const own = (await domainsOf(db, [project.id])).get(project.id) ?? []
  if (own.some((domain) => domain.hostname === hostname)) return hostname
  warnings.push(`Git webhooks are not received at ${hostname} at the target: the project does not have that domain`)
  return null
}

async function replaceUpload(
  before: ProjectRow | undefined,
  { uploadSessionId, projectId, organizationId }: ProjectImport,
  transaction: TransactionContext,
  deps: ProjectsDeps,
): Promise<void> {
  if (uploadSessionId && uploadSessionId !== before?.uploadSessionId)
    await claimUpload(transaction, uploadSessionId, { organizationId, id: projectId }, deps)
  if (before?.uploadSessionId && before.uploadSessionId !== uploadSessionId)
    await releaseUpload(transaction, before.uploadSessionId, deps)
}

/** Files of a project with another kind of source are the upload that production was deployed from. */
async function setProductionUpload(
  { bundle, uploadSessionId, projectId }: ProjectImport,
  transaction: TransactionContext,
  deps: ProjectsDeps,
): Promise<void> {
  const production = await findEnvironment(transaction.db, projectId, 'production')
  const sessionId = bundle.source.kind === 'upload' ? null : uploadSessionId
  if (!production || production.uploadSessionId === sessionId) return
  await clearEnvironmentUpload(transaction, production, deps)
  await changeEnvironment(transaction.db, production.id, { uploadSessionId: sessionId })
}

async function importEnvironments(
  bundle: ProjectBundle,
  { id }: ProjectRow,
  { db }: TransactionContext,
  deps: ProjectsDeps,
): Promise<void> {
  const now = nowOf(deps)
  await deleteAllVariables(db, id)
  // Production is always first, regardless of the order in the bundle.
  const sorted = bundle.environments.toSorted(
    (left, right) => Number(right.slug === 'production') - Number(left.slug === 'production'),
  )
  if (sorted[0]?.slug !== 'production') fail('validation_failed', { message: 'The bundle has no production environment' })
  for (const [index, { name, slug, type = 'preview', branch = null, variables }] of sorted.entries()) {
    const common = { uploadSessionId: null, pullRequest: null, fromFork: 0 as const, deletingSince: null, createdAt: now + index }
    const isNew = await insertEnvironment(db, { id: newId('env'), projectId: id, name, slug, type, branch, ...common })
    if (!isNew) await renameEnvironment(db, { projectId: id, slug }, { name, type, branch })
    for (const { key, value, isSecret } of variables)
      await upsertVariable(db, {
        projectId: id,
        environment: slug,
        key,
        value: deps.secretBox.seal(value, sealedFor.envVariable(id, slug, key)),
        isSecret: isSecret ? 1 : 0,
        updatedAt: now,
      })
  }
  await refuseLargeProject(db, id, 'environments')
}
