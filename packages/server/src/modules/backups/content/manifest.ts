import type { ArchiveIndex } from '../../../drivers/archive/archive.ts'
import type { ArtifactKind, RunRow } from '../../../platform/db/tables/backups.ts'
import type { SavedProject } from '../../projects/index.ts'
import { BackupFailed } from '../failures.ts'

/** Written last: names every stored part, and contains the project's own settings for a restore after deletion. */
export interface Manifest {
  format: typeof manifestFormat
  runId: string
  organizationId: string
  projectId: string
  serviceId: string | null
  createdAt: string
  version: string
  project: SavedProject
  artifacts: ManifestArtifact[]
}

export interface ManifestArtifact {
  name: string
  kind: ArtifactKind
  details: unknown
  index: ArchiveIndex
}

const manifestFormat = 'berth-backup/1'
/** Limit for reading a manifest; an index takes some hundred bytes for each 8 MiB. */
export const maxManifestBytes = 256 * 1024 * 1024

export function manifestOf(
  run: RunRow,
  { project, artifacts, version, now }: { project: SavedProject; artifacts: ManifestArtifact[]; version: string; now: Date },
): Manifest {
  const { id: runId, organizationId, projectId, serviceId } = run
  const createdAt = now.toISOString()
  return { format: manifestFormat, runId, organizationId, projectId, serviceId, createdAt, version, project, artifacts }
}

/** Prefix of the names of a run's objects. */
export const folderOf = ({ projectId, id }: Pick<RunRow, 'projectId' | 'id'>) => `${projectId}/${id}/`
/** Each attempt after the first has its own name: an attempt that was presumed dead but still runs must not overwrite it. */
export const manifestNameOf = (run: Pick<RunRow, 'projectId' | 'id'>, attempt: string | null) =>
  `${folderOf(run)}manifest${attempt === null ? '' : `-${attempt}`}.json.zst.age`
export const isManifest = (name: string) => /\/manifest(-[a-z0-9]+)?\.json\.zst\.age$/.test(name)

/** Refuses the manifest of another run, project or organisation. */
export function readManifest(text: string, run: RunRow): Manifest {
  const manifest = parseManifest(text)
  const isOfRun =
    manifest.format === manifestFormat &&
    manifest.runId === run.id &&
    manifest.projectId === run.projectId &&
    manifest.organizationId === run.organizationId &&
    Array.isArray(manifest.artifacts)
  if (!isOfRun) throw new BackupFailed('manifest_foreign', 'The manifest at the destination belongs to another run')
  return manifest
}

function parseManifest(text: string): Manifest {
  try {
    return JSON.parse(text) as Manifest
  } catch (cause) {
    throw new BackupFailed('manifest_damaged', 'The manifest at the destination is damaged', { cause })
  }
}
