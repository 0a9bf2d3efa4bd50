import { isDeepStrictEqual } from 'node:util'
import type { Project, Service, UpdateProject } from '@berth/contract'
import { projectJson } from '../../../platform/db/json-columns/projects.ts'
import type { DetectedFields, ProjectRow } from '../../../platform/db/tables/projects.ts'
import { refuse } from '../../../platform/failure.ts'
import { nowOf, type ProjectsDeps } from '../deps.ts'
import { defaults } from '../fields.ts'
import { allowedFolder } from '../source.ts'
import { fetchStored } from '../uploads/stored-upload.ts'
import { findUploadSession, newestScan } from '../uploads/uploads.ts'
import { detectLocal } from './detect-local.ts'

const configFields = [
  'framework',
  'packageManager',
  'installCommand',
  'buildCommand',
  'startCommand',
  'outputDirectory',
  'rootDirectory',
  'type',
  'port',
] as const
const detectable = ['name', ...configFields] as const
type Detectable = (typeof detectable)[number]

export interface ScannedBody<Body> {
  body: Body
  /** Fields of the body whose values are those of the scan. */
  detected: DetectedFields
  /** The body's services are those of the scan. */
  hasScannedServices: boolean
}

/**
 * Reads a body that may contain the scan of its own source. Services equal to those of the Compose file are not copied into the
 * project: the file defines them, also after it has changed.
 */
export async function readScanned<Body extends UpdateProject>(
  input: Body,
  organizationId: string,
  deps: ProjectsDeps,
): Promise<ScannedBody<Body>> {
  const body = input.name === null ? withoutName(input) : input
  const names = [...configFields, 'services'] as const
  const scan = names.some((field) => body[field] !== undefined) ? await scanOf(body, organizationId, deps) : undefined
  if (!scan) return { body, detected: {}, hasScannedServices: false }
  const unchanged = detectable.filter((field) => body[field] !== undefined && body[field] === (scan[field] ?? null))
  const detected = Object.fromEntries(unchanged.map((field) => [field, scan[field] ?? null]))
  const hasScannedServices = !!body.services && isDeepStrictEqual(plain(scan.services), plain(body.services))
  return { body: hasScannedServices ? { ...body, services: null } : body, detected, hasScannedServices }
}

/** A name of null keeps the project's name, so a scan of a source without a name changes nothing. */
const withoutName = <Body extends UpdateProject>({ name: _, ...body }: Body): Body => body as Body

/** Names of new projects whose source has none. */
const defaultNames: Record<Project['type'], string> = { app: 'app', static: 'site', worker: 'worker', services: 'services' }

/** The body of a new project with its name. A folder that is its source names it where the body does not. */
export async function withName<Body extends UpdateProject>(
  body: Body,
  organizationId: string,
  deps: ProjectsDeps,
): Promise<Body & { name: string }> {
  const { name, type } = body
  if (name != null) return { ...body, name }
  if (!body.uploadSessionId && !body.localPath) refuse('name', 'is required')
  const scan = await scanOf(body, organizationId, deps)
  return { ...body, name: scan?.name ?? defaultNames[type ?? scan?.type ?? defaults.type] }
}

async function scanOf({ uploadSessionId, localPath }: UpdateProject, organizationId: string, deps: ProjectsDeps) {
  if (localPath) return detectLocal(await allowedFolder(localPath, 'localPath', deps), organizationId)
  const session = uploadSessionId && (await findUploadSession(deps.database.db, organizationId, uploadSessionId, nowOf(deps)))
  if (!session) return undefined
  const stored = await fetchStored(session, deps)
  return stored.status === 'received' ? newestScan(stored, deps) : undefined
}

/** Services as in a response: without undefined fields. */
const plain = (services: readonly Service[]): unknown => JSON.parse(JSON.stringify(services))

export interface BodyWithWarnings<Body> {
  body: Body
  /** Warnings, one for each field of the scan that was not applied. */
  warnings: string[]
}

/**
 * Removes scanned fields from the body where a user chose the project's value: a scan sent back for an existing project does
 * not overwrite the user's settings. A value that differs from the scan is the user's choice and stays in the body.
 */
export function dropOverriddenFields<Body extends UpdateProject>(
  { body, detected, hasScannedServices }: ScannedBody<Body>,
  project: ProjectRow,
): BodyWithWarnings<Body> {
  const before: DetectedFields = projectJson.detected(project) ?? {}
  const keptFields = (Object.keys(detected) as Detectable[]).filter((field) => isUserChoice(project, field, before))
  const warnings = keptFields
    .filter((field) => settingOf(project, field) !== detected[field])
    .map((field) => warningOf(field, settingOf(project, field), detected[field] ?? null))
  const removed = new Set<string>([...keptFields, ...(hasScannedServices ? ['services'] : [])])
  return { body: Object.fromEntries(Object.entries(body).filter(([field]) => !removed.has(field))) as Body, warnings }
}

/** The column that records which values came from a scan; undefined where none did. */
export function detectedColumn(detected: DetectedFields, project: ProjectRow | null): { detected?: string } {
  if (Object.keys(detected).length === 0) return {}
  const before: DetectedFields = (project && projectJson.detected(project)) ?? {}
  return { detected: JSON.stringify({ ...before, ...detected }) }
}

const settingOf = (project: ProjectRow, field: Detectable): string | number | null =>
  field === 'port' && !project.portChosen ? null : project[field]

function isUserChoice(project: ProjectRow, field: Detectable, before: DetectedFields): boolean {
  const value = settingOf(project, field)
  if (value === null || value === before[field]) return false
  return !(field === 'type' && value === defaults.type)
}

function warningOf(field: string, value: unknown, scanned: unknown): string {
  const scanText = scanned === null ? 'The scan detected none' : `The scan detected ${JSON.stringify(scanned)}`
  return `${field}: ${JSON.stringify(value)} was chosen for this project and is kept. ${scanText}; PATCH /projects/:id changes it.`
}
