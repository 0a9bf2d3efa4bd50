import { createHash } from 'node:crypto'
import type { ImageInspectInfo } from 'dockerode'
import { digestIn, isImageId } from '../image-name.ts'
import { type Artifact, BuildFailed } from '../runtime.ts'
import { ask, askFor, type Engine, statusOf } from './engine.ts'
import { type Labels, labelIn } from './labels.ts'
import type { PrivateRepositories } from './private-repositories.ts'
import { NoAddresses } from './run/address-room.ts'

export interface ImageParts {
  engine: Engine
  labels: Labels
  imageMirror: string | null
  /** Where images may be fetched from; null: from anywhere. */
  registries: readonly string[] | null
  privateRepositories: PrivateRepositories
}

/** An image that is neither here nor to be had. */
export class ImageMissing extends Error {
  override readonly name = 'ImageMissing'
}

/** An image that was built here and does not exist any more. */
export class OwnImageGone extends ImageMissing {}

/** An id names an image of any project, or of any user of the engine. */
export function refuseId(image: string): void {
  if (isImageId(image)) throw new ImageMissing(`An image is named by its name and tag, not by its id (${image.slice(0, 19)}…)`)
}

/** The same for images that run the same: their layers and settings, without the labels that say whose they are. */
export function contentOf({ RootFS, Config }: ImageInspectInfo): string {
  const { Labels: _whose, Image: _parent, Hostname: _host, ...settings } = Config as unknown as Record<string, unknown>
  const parts = [RootFS?.Layers ?? [], Object.entries(settings).sort(([left], [right]) => (left < right ? -1 : 1))]
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex')
}

/** A build cannot begin without its base image, nor without a network. */
export const asBuildFailure = (error: unknown): unknown =>
  error instanceof ImageMissing || error instanceof NoAddresses ? new BuildFailed('missing_tool', error.message) : error

export async function listImageArtifacts({ engine, labels }: ImageParts) {
  const images = await ask((abortSignal) => engine.listImages({ filters: labels.filter('artifact'), abortSignal }))
  return images.flatMap(({ Id, RepoTags, Size, Labels: found }) =>
    namesOf(Id, RepoTags).map((reference) => ({
      kind: 'image' as const,
      reference,
      sizeBytes: Size,
      startCommand: null,
      deploymentId: labelIn(found, 'deployment'),
      projectId: labelIn(found, 'project'),
    })),
  )
}

/** One that was built twice has lost its name to the second: it goes by its id. */
export function namesOf(id: string, tags: readonly string[] | null | undefined): string[] {
  const names = (tags ?? []).filter((tag) => tag !== '<none>:<none>')
  return names.length > 0 ? names : [id]
}

/**
 * Removes an image that was built here, or the digest of one that was pulled. Only when no container uses it: the engine itself
 * refuses that without force. A pulled image that has other names stays under those.
 */
export async function removeImageArtifact({ reference }: Artifact, parts: ImageParts, abort: AbortSignal): Promise<void> {
  const { engine, labels } = parts
  if (digestIn(reference)) return removeQuietly(reference, engine, abort)
  const image = engine.getImage(reference)
  const found = await askFor(() => image.inspect(), { abort })
  const marks = found?.Config?.Labels
  if (!found || !labels.isOurs(marks)) return
  await removeQuietly(reference, engine, abort)
  const project = labelIn(marks, 'project')
  const others = await ask((abortSignal) => engine.listImages({ filters: labels.filter('artifact', { project }), abortSignal }))
  if (others.length === 0) await removeDependencies(project, 0, parts, abort)
}

/** What installs of a project's dependencies left, but for the newest `keep`. */
export async function removeDependencies(
  project: string,
  keep: number,
  { engine, labels }: ImageParts,
  abort: AbortSignal,
): Promise<void> {
  const filters = labels.filter('dependencies', { project })
  const images = await ask((abortSignal) => engine.listImages({ filters, abortSignal }), { abort })
  const old = images.sort((left, right) => right.Created - left.Created).slice(keep)
  for (const name of old.flatMap(({ Id, RepoTags }) => namesOf(Id, RepoTags))) await removeQuietly(name, engine, abort)
}

/** In use, or gone already: both leave things as they should be. */
export async function removeQuietly(reference: string, engine: Engine, abort?: AbortSignal): Promise<void> {
  try {
    await ask((abortSignal) => engine.getImage(reference).remove({ abortSignal }), abort ? { abort } : {})
  } catch (error) {
    if (statusOf(error) !== 404 && statusOf(error) !== 409) throw error
  }
}
