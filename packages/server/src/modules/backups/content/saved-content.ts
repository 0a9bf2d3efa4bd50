import type { BackupPayload } from '@berth/contract'
import type { ExecCommand } from '../../../drivers/runtime/runtime.ts'
import { StartFailed } from '../../../drivers/runtime/runtime-errors.ts'
import type { ArtifactKind } from '../../../platform/db/tables/backups.ts'
import type { VolumeRow } from '../../../platform/db/tables/deployments.ts'
import { type DataUnit, hasCompleted, type ProjectData } from '../../deployments/index.ts'
import type { SavedUpload } from '../../projects/index.ts'
import type { BackupsDeps } from '../deps.ts'
import { BackupFailed } from '../failures.ts'
import { checkCoverage } from './coverage.ts'
import type { DatabaseKind, DumpDetails, RunningUnit } from './database-kind.ts'
import { detectDatabase } from './databases.ts'
import { outputOf } from './exec-output.ts'
import { withoutExcluded } from './without-excluded.ts'
import { withoutLongHoles } from './without-long-holes.ts'

/** A unit of data that a run saves. */
export interface SavedContent {
  name: string
  kind: ArtifactKind
  extension: string
  details: DumpDetails | VolumeDetails | SourceDetails
  /** null: unknown until it has been read. */
  estimatedBytes: number | null
  read(abort: AbortSignal): AsyncIterable<Uint8Array>
}

export interface VolumeDetails {
  volume: string
}

export interface SourceDetails {
  uploadSessionId: string
}

export interface ContentRequest {
  projectId: string
  /** null: the whole project. */
  serviceId: string | null
  payload: BackupPayload
  /** A safety run saves all data that exists, and does not fail if there is none. */
  isSafety: boolean
}

export interface FoundContent {
  content: SavedContent[]
  /** Warning about data that the run leaves out although the policy does not exclude it. */
  warning: string | null
}

/**
 * Lists the data to save. The files of a running database are inconsistent at any moment, so it is dumped with its own tool;
 * files of a stopped database, and all other volumes, are copied as they are.
 */
export async function contentOf(
  { projectId, serviceId, payload, isSafety }: ContentRequest,
  { data, projects }: Pick<BackupsDeps, 'data' | 'projects'>,
  abort: AbortSignal,
): Promise<FoundContent> {
  const [all, volumeRows] = [await data.units(projectId), await data.volumes(projectId)]
  const units = serviceId === null ? all : all.filter(({ service }) => service === serviceId)
  const dumpedUnits = payload.databases === 'off' ? [] : await listDatabaseDumps(units, data, abort)
  const dumpedVolumes = new Set(
    dumpedUnits.flatMap(({ unit }) => unit.volumes.filter(({ readOnly }) => !readOnly).map(({ name }) => name)),
  )
  const otherwiseUsed = volumeNames(all.filter(({ service }) => !dumpedUnits.some(({ unit }) => unit.service === service)))
  const mounted = volumeNames(all)
  // A copy made by a restore is the project's own data once the project mounts it. The mounts of a deleted project are unknown.
  const isOwnVolume = ({ name, restoredFrom }: VolumeRow) =>
    restoredFrom === null || mounted.has(name) || (isSafety && all.length === 0)
  const ownVolumes = volumeRows.filter(isOwnVolume).map(({ name }) => name)
  const requestedVolumes = payload.volumes === 'all' ? ownVolumes : payload.volumes
  const volumes = volumeRows.filter(
    ({ name }) =>
      requestedVolumes.includes(name) &&
      (serviceId === null || volumeNames(units).has(name)) &&
      (!dumpedVolumes.has(name) || otherwiseUsed.has(name)),
  )
  const saved = dumpedUnits.flatMap((one) => one.content)
  for (const volume of volumes) saved.push(await volumeContent(volume, payload.exclude, data))
  const found = {
    services: all.map(({ service }) => service),
    volumes: volumeRows.map(({ name }) => name),
    ownVolumes,
    savedCount: saved.length,
  }
  const warning = isSafety ? null : checkCoverage({ serviceId, payload }, found)
  const upload = await projects.uploadOf(projectId)
  return { content: upload ? [...saved, sourceContent(upload)] : saved, warning }
}

const volumeNames = (units: readonly DataUnit[]) => new Set(units.flatMap(({ volumes }) => volumes.map(({ name }) => name)))

async function listDatabaseDumps(units: readonly DataUnit[], data: ProjectData, abort: AbortSignal) {
  const found: { unit: RunningUnit; content: SavedContent[] }[] = []
  for (const unit of units) {
    const database = detectDatabase(unit)
    if (!database || !unit.instance) continue
    const running: RunningUnit = { ...unit, instance: unit.instance, runtime: data.runtimeFor(unit.instance.serverId) }
    const instance = await running.runtime.inspect(running.instance.id)
    if (instance && hasCompleted(instance, unit)) continue
    const content = await dumpsOf(running, database, abort)
    if (content) found.push({ unit: running, content })
  }
  return found
}

async function dumpsOf(unit: RunningUnit, database: DatabaseKind, abort: AbortSignal): Promise<SavedContent[] | null> {
  const dumps = await database.dumps(unit, abort).catch((error: unknown) => {
    throw withServiceName(error, unit)
  })
  if (!dumps) return null
  return dumps.map(({ name, extension, command, details }) => ({
    name: `${unit.service || 'app'}/${name}`,
    kind: database.kind,
    extension,
    details,
    estimatedBytes: null,
    read: (stop) => dumpOutput(unit, command, stop),
  }))
}

async function* dumpOutput(unit: RunningUnit, command: ExecCommand, abort: AbortSignal): AsyncGenerator<Uint8Array> {
  try {
    yield* outputOf(unit.runtime, unit.instance.id, command, abort)
  } catch (error) {
    throw withServiceName(error, unit)
  }
}

/** The error of a dump with the name of its service: a project may have several services of one image. */
function withServiceName(error: unknown, { service }: DataUnit): unknown {
  const name = service ? `The service ${service}` : 'The project'
  if (error instanceof StartFailed)
    return new BackupFailed(
      'not_running',
      `${name} is not running, so its database cannot be backed up. Start it, or exclude databases from the policy.`,
      { cause: error },
    )
  if (error instanceof BackupFailed) return new BackupFailed(error.code, `${name}: ${error.message}`, { cause: error })
  return error
}

/** An upload exists nowhere else: without it a deleted project could not be deployed again. */
const sourceContent = ({ uploadSessionId, sizeBytes, read }: SavedUpload): SavedContent => ({
  name: 'source',
  kind: 'source',
  extension: 'tar.gz',
  details: { uploadSessionId },
  estimatedBytes: sizeBytes,
  read: () => read(),
})

async function volumeContent(
  { id, name, serverId }: VolumeRow,
  exclude: readonly string[],
  data: ProjectData,
): Promise<SavedContent> {
  const runtime = data.runtimeFor(serverId)
  return {
    name,
    kind: 'volume',
    extension: 'tar',
    details: { volume: name },
    estimatedBytes: await runtime.volumeSizeBytes(id).catch(() => null),
    read: (abort) => withoutLongHoles(withoutExcluded(runtime.readVolume(id, abort), exclude), name),
  }
}
