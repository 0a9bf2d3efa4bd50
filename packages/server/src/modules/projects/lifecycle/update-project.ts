import type { UpdateProject } from '@berth/contract'
import type { Caller } from '../../../http/handler.ts'
import { projectJson } from '../../../platform/db/json-columns/projects.ts'
import type { ProjectRow } from '../../../platform/db/tables/projects.ts'
import type { TransactionContext } from '../../../platform/transaction.ts'
import type { ProjectsDeps } from '../deps.ts'
import { automaticDeploy, configColumns, nameColumns, refuseUnstorable } from '../fields.ts'
import { noCloneToken } from '../git/clone-token.ts'
import { hiddenFrom } from '../git/hidden-repositories.ts'
import { hostUrlsOf } from '../git-remote.ts'
import { updateProjectWebhook } from '../hostnames/delivery-address.ts'
import { freeHostname } from '../hostnames/hostnames.ts'
import { changeProject } from '../operations/change-project.ts'
import { withStoredValues } from '../records/service-environment.ts'
import { moveRules } from '../rules/rules.ts'
import { checkConfig, checkNames } from '../settings/config-rules.ts'
import { detectedColumn, dropOverriddenFields, readScanned, type ScannedBody } from '../settings/scanned-fields.ts'
import { changesGitHost, checkSource, sourceColumns } from '../source.ts'
import type { ProjectChanges } from '../store.ts'
import { fetchUploadById } from '../uploads/stored-upload.ts'
import { claimUpload } from '../uploads/upload-claim.ts'
import { refuseAliasSlug, refuseInstanceSlug, slugOfName } from './create-project.ts'

/**
 * Changes the given fields; absent ones are left unchanged. A new name keeps the slug, and so the URL, unless the slug is null.
 */
export async function updateProject(
  project: ProjectRow,
  input: UpdateProject,
  deps: ProjectsDeps,
  caller?: Caller,
): Promise<ProjectRow> {
  refuseUnstorable(input)
  return applyUpdate(project, await readScanned(input, project.organizationId, deps), deps, caller)
}

/** Updates with the scan of a newer version of the source: detected fields do not replace a user's choice. */
export async function updateFromScan(project: ProjectRow, input: UpdateProject, deps: ProjectsDeps, caller: Caller) {
  refuseUnstorable(input)
  const scanned = await readScanned(input, project.organizationId, deps)
  const { body, warnings } = dropOverriddenFields(scanned, project)
  return { row: await applyUpdate(project, { body, detected: scanned.detected }, deps, caller), warnings }
}

async function applyUpdate(
  project: ProjectRow,
  { body, detected }: Pick<ScannedBody<UpdateProject>, 'body' | 'detected'>,
  deps: ProjectsDeps,
  caller?: Caller,
): Promise<ProjectRow> {
  checkConfig(body, projectJson.services(project))
  checkNames(changedNames(body, project))
  if (body.slug && body.slug !== project.slug) refuseInstanceSlug(body.slug, deps)
  const source = await checkSource(body, project.organizationId, deps, caller && { current: project, caller })
  const refuseHidden = caller && (await hiddenFrom(caller, deps))
  if (source.uploadSessionId) await fetchUploadById(source.uploadSessionId, project.organizationId, deps)
  return changeProject(project, deps, async (current, transaction) => {
    const slug = body.slug === null ? await slugOfName({ ...current, ...nameColumns(body) }, transaction.db, deps) : body.slug
    const changes: ProjectChanges = {
      ...nameColumns({ ...body, slug }),
      ...configColumns(withStoredValues(body, projectJson.services(current)), current),
      ...sourceColumns(source, current, hostUrlsOf(deps.settings)),
      ...(body.autoDeploy === null ? automaticDeploy(body, body.image === undefined ? current.image : body.image) : {}),
      ...webhookDomainColumns(slug, current, deps),
      ...detectedColumn(detected, current),
    }
    refuseHidden?.(changes, current)
    if (current.webhookDomain !== null) await updateWebhooks(current, changes, transaction)
    if (slug && slug !== current.slug) await refuseAliasSlug(slug, transaction.db)
    if (slug && slug !== current.slug) await moveRules(transaction.db, current, slug, deps.settings.baseDomain)
    if (changesGitHost(current, changes, hostUrlsOf(deps.settings))) Object.assign(changes, noCloneToken)
    const { uploadSessionId } = changes
    if (uploadSessionId && uploadSessionId !== current.uploadSessionId)
      await claimUpload(transaction, uploadSessionId, current, deps)
    return Object.keys(changes).length > 0 ? changes : null
  })
}

/** An unchanged name may be sent back, also one from before names were checked. */
const changedNames = ({ framework, packageManager }: UpdateProject, project: ProjectRow) => ({
  framework: framework === project.framework ? null : framework,
  packageManager: packageManager === project.packageManager ? null : packageManager,
})

/** Updates the webhooks of the previous and the new repository. */
async function updateWebhooks(current: ProjectRow, changes: ProjectChanges, transaction: TransactionContext): Promise<void> {
  const next = { ...current, ...(changes as Partial<ProjectRow>) }
  const webhookKey = ({ gitProvider, gitOwner, gitRepo, webhookDomain }: ProjectRow) =>
    [gitProvider, gitOwner, gitRepo, webhookDomain].join(' ')
  if (webhookKey(next) === webhookKey(current)) return
  await updateProjectWebhook(current, transaction)
  await updateProjectWebhook(next, transaction)
}

/** A webhook domain that is the free host name follows the new slug. */
function webhookDomainColumns(slug: string | undefined, current: ProjectRow, { settings }: ProjectsDeps): ProjectChanges {
  const isFreeHostname = slug && current.webhookDomain === freeHostname(current, settings.baseDomain)
  return isFreeHostname ? { webhookDomain: freeHostname({ slug }, settings.baseDomain) } : {}
}
