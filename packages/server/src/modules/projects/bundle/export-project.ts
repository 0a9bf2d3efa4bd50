import type { CreateRule, ProjectBundle, ProjectOptions } from '@berth/contract'
import { iso } from '../../../platform/db/columns.ts'
import { projectJson } from '../../../platform/db/json-columns/projects.ts'
import type { ProjectRow } from '../../../platform/db/tables/projects.ts'
import { carriedParts } from '../carried-parts.ts'
import type { Source } from '../deployment-source.ts'
import { nowOf, type ProjectsDeps } from '../deps.ts'
import { openCloneToken } from '../git/clone-token.ts'
import { freeHostname } from '../hostnames/hostnames.ts'
import { ruleFields } from '../rules/rules.ts'
import { currentSource, nextProductionSource } from '../saved/current-source.ts'
import { openVariable } from '../settings/env.ts'
import { sourceKind } from '../source.ts'
import { allEnvironments, domainsOf, findAnyProject, listVariables, rulesOf } from '../store.ts'

/** The files of a project whose source is neither a repository nor an image. */
export type SourceFiles = { kind: 'folder'; path: string } | { kind: 'upload'; sessionId: string } | null

export interface DescribedProject {
  organizationId: string
  bundle: Omit<ProjectBundle, 'deployed'>
  files: SourceFiles
  /** Environments other than production with their own upload, which is not exported. */
  notExportedUploads: string[]
}

/** Everything of a project that is exported. Previews of pull requests are not: the next push creates them again. */
export async function describeProject(projectId: string, deps: ProjectsDeps): Promise<DescribedProject | undefined> {
  const { db } = deps.database
  const row = await findAnyProject(db, projectId)
  if (!row) return undefined
  const version = await currentSource(row, deps)
  const source = sourceOf(row, version)
  const environments = []
  const notExportedUploads: string[] = []
  for (const { name, slug, type, branch, pullRequest, deletingSince, uploadSessionId } of await allEnvironments(db, projectId)) {
    if (pullRequest !== null || deletingSince !== null) continue
    const variables = (await listVariables(db, projectId, slug)).map((variable) => openVariable(variable, deps))
    environments.push({ name, slug, type, branch, variables })
    if (uploadSessionId !== null && slug !== 'production') notExportedUploads.push(slug)
  }
  const domains = (await domainsOf(db, [projectId])).get(projectId) ?? []
  const carried = carriedParts(row)
  const detected = projectJson.detected(row)
  const rules = [...(await rulesOf(db, projectId)).map(ruleFields), ...carried.rules].filter((rule) =>
    isUnexpired(rule, nowOf(deps)),
  )
  return {
    organizationId: row.organizationId,
    notExportedUploads,
    files: filesOf(version) ?? (source.kind === 'upload' ? filesOf(await nextProductionSource(row, deps)) : null),
    bundle: {
      ...{ name: row.name, slug: row.slug, enabled: row.enabled === 1, createdAt: iso(row.createdAt) },
      options: optionsOf(row),
      resources: projectJson.resources(row),
      previewsUseProduction: row.previewsUseProduction === 1,
      source: { ...source, isFolderCopy: isFolderCopy(row, version) },
      cloneToken: openCloneToken(row, deps)?.reveal() ?? null,
      environments,
      domains: domains.map(({ hostname, isPrimary }) => ({ hostname, primary: isPrimary === 1 })),
      rules,
      grants: [...(await deps.grants.of(db, projectId)), ...carried.grants],
      webhookDomain: webhookDomainOf(row, deps),
      ...(detected ? { detected } : {}),
    },
  }
}

/** Whether a route rule has not expired. */
export const isUnexpired = ({ expiresAt }: Pick<CreateRule, 'expiresAt'>, now: number): boolean =>
  expiresAt == null || Date.parse(expiresAt) > now

/** Whether the files are those of a folder, on this instance or on the one that the project came from. */
function isFolderCopy(row: ProjectRow, version: Source | undefined): boolean {
  // An upload that was deployed to a folder project is its source since then.
  if (sourceKind(row) === 'local') return version?.kind !== 'upload'
  return version?.kind === 'upload' && version.sessionId === carriedParts(row).folderUploadId
}

/** The free host name differs on another instance, so it is sent as null. */
function webhookDomainOf(row: ProjectRow, { settings }: ProjectsDeps): ProjectBundle['webhookDomain'] {
  if (row.webhookDomain === null) return null
  return { hostname: row.webhookDomain === freeHostname(row, settings.baseDomain) ? null : row.webhookDomain }
}

function filesOf(version: Source | undefined): SourceFiles {
  if (version?.kind === 'local') return { kind: 'folder', path: version.path }
  return version?.kind === 'upload' ? version : null
}

/**
 * A local folder is exported as an upload: the target has no such folder. A project of a repository or of images keeps its
 * source, also where its live version is an upload.
 */
function sourceOf(row: ProjectRow, version: Source | undefined): ProjectBundle['source'] {
  const kind = sourceKind(row)
  if (kind === 'local' || kind === 'upload' || (kind === 'none' && version?.kind === 'upload')) return { kind: 'upload' }
  if (kind !== 'git') return { kind }
  const { gitOwner, gitRepo, gitBranch, gitUrl } = row
  const gitProvider = row.gitProvider as ProjectBundle['source']['gitProvider']
  return { kind, gitProvider, gitOwner, gitRepo, gitBranch, gitUrl }
}

function optionsOf(row: ProjectRow): ProjectOptions {
  const { framework, packageManager, installCommand, buildCommand, startCommand, outputDirectory, rootDirectory } = row
  const {
    dockerfilePath,
    composePath,
    buildImage,
    buildTarget,
    image,
    type,
    previewsMaximum,
    previewsMaxAgeDays,
    rollbackWindow,
  } = row
  return {
    ...{ framework, packageManager, installCommand, buildCommand, startCommand, outputDirectory, rootDirectory },
    ...{ dockerfilePath, composePath, buildImage, buildTarget, image, type, previewsMaximum, previewsMaxAgeDays, rollbackWindow },
    // A detected port is detected again on the target.
    ...(row.portChosen ? { port: row.port } : {}),
    composeProfiles: projectJson.composeProfiles(row),
    buildArgs: projectJson.buildArgs(row),
    healthCheck: projectJson.healthCheck(row),
    volumes: projectJson.volumes(row),
    services: projectJson.services(row),
    serviceRoutes: projectJson.serviceRoutes(row),
    sleepMode: row.sleepMode,
    autoDeploy: row.autoDeploy === 1,
    previews: row.previews === 1,
  }
}
