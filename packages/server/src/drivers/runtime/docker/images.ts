import { createHash } from 'node:crypto'
import type { ImageInspectInfo } from 'dockerode'
import { familiarName, isImageId } from '../image-name.ts'
import { type Artifact, BuildFailed } from '../runtime.ts'
import { ask, askFor, type Engine, statusOf, wordsOfEngine } from './engine.ts'
import { type Labels, labelIn } from './labels.ts'
import { NoAddresses } from './run/address-room.ts'

export interface ImageParts {
  engine: Engine
  labels: Labels
  imageMirror: string | null
  /** Where images may be fetched from; null: from anywhere. */
  registries: readonly string[] | null
}

const pullMs = 15 * 60_000

/** An image that is neither here nor to be had. */
export class ImageMissing extends Error {
  override readonly name = 'ImageMissing'
}

/** An image that was built here and does not exist any more. */
export class OwnImageGone extends ImageMissing {}

/** The name under which the image is here, after a pull where it was not. `projectId` is whose build or instance wants it. */
export async function ensureImage(
  image: string,
  { engine, imageMirror, registries, labels }: ImageParts,
  projectId: string,
  say: (line: string) => void,
  abort: AbortSignal,
): Promise<string> {
  refuseForeign(image, projectId, labels)
  if (isWholeId(image)) return ownOrNobodys(image, { engine, labels }, projectId, abort)
  const isOwn = isOwnName(image, projectId, labels)
  const sources = imageMirror === null || isOwn ? [image] : mirrored(image, imageMirror)
  for (const name of [...sources, image]) {
    const found = await askFor(() => engine.getImage(name).inspect(), { abort })
    if (!found || !isCalled(name, found)) continue
    const marks = found.Config?.Labels
    if (labels.isOurs(marks) && labelIn(marks, 'project') !== projectId) throw notForProject(image)
    return name
  }
  // Its name may belong to anyone at a registry.
  if (isOwn) throw new OwnImageGone(`The image ${image} was built here and does not exist any more`)
  if (imageMirror === null && registries !== null && !registries.includes(registryOf(image)))
    throw new ImageMissing(`The image ${image} is at ${registryOf(image)}, which is none of: ${registries.join(', ')}`)
  const reasons: string[] = []
  for (const name of sources) {
    say(`Fetching the image ${name}`)
    const reason = await pull(name, engine, say, abort)
    if (reason === null) return name
    reasons.push(reason)
  }
  throw new ImageMissing(
    `The image ${image} is not here and could not be fetched: ${reasons.join('; ')}. ` +
      'Without a public registry, set BERTH_IMAGE_MIRROR, or load the image into the engine',
  )
}

const isWholeId = (image: string) => /^sha256:[0-9a-f]{64}$/.test(image)

/** An adopted container may run an image that has lost its name. Nothing can be fetched by an id; another project's build has its label. */
async function ownOrNobodys(
  image: string,
  { engine, labels }: Pick<ImageParts, 'engine' | 'labels'>,
  projectId: string,
  abort: AbortSignal,
): Promise<string> {
  const found = await askFor(() => engine.getImage(image).inspect(), { abort })
  const marks = found?.Config?.Labels
  if (found?.Id !== image || (labels.isOurs(marks) && labelIn(marks, 'project') !== projectId))
    throw new ImageMissing(`The image ${image} is not in the engine, and none is fetched by its id: name one with a tag`)
  return image
}

/** Images that a Berth builds belong to one project, whose own builds and instances alone may name them. */
function refuseForeign(image: string, projectId: string, labels: Labels): void {
  if (/^berth-[0-9a-f]{16}\//.test(familiarName(image)) && !isOwnName(image, projectId, labels)) throw notForProject(image)
}

const isOwnName = (image: string, projectId: string, { instance }: Labels) =>
  familiarName(image).startsWith(`berth-${instance}/${projectId}:`)

/** An id names an image of any project, or of any user of the engine. */
export function refuseId(image: string): void {
  if (isImageId(image)) throw new ImageMissing(`An image is named by its name and tag, not by its id (${image.slice(0, 19)}…)`)
}

/** The same words whether there is such an image or not. */
const notForProject = (image: string) => new ImageMissing(`The image ${image} is not one that this project may use`)

/**
 * The engine also finds an image by the first letters of its id, whosever it is: a few guesses would hit another project's.
 * So one that is here counts only by its name.
 */
function isCalled(name: string, { RepoTags, RepoDigests }: ImageInspectInfo): boolean {
  const familiar = familiarName(name)
  const [repository = '', digest] = familiar.split('@')
  if (digest === undefined) return (RepoTags ?? []).includes(familiar)
  return (RepoDigests ?? []).includes(`${repository.replace(/:[^/:]*$/, '')}@${digest}`)
}

/** The host in the name, or the hub. */
function registryOf(image: string): string {
  const [first = '', ...rest] = image.split('/')
  const isHost = rest.length > 0 && (/[.:]/.test(first) || first === 'localhost' || /[A-Z]/.test(first))
  return isHost ? first.toLowerCase().replace(/^index\.docker\.io$/, 'docker.io') : 'docker.io'
}

/** On a service for strangers: the engine connects to whatever a name says, and follows where it is sent. */
export const publicRegistries = [
  'docker.io',
  'ghcr.io',
  'quay.io',
  'gcr.io',
  'public.ecr.aws',
  'mcr.microsoft.com',
  'registry.gitlab.com',
  'registry.k8s.io',
  'docker.elastic.co',
  'cgr.dev',
  'lscr.io',
  'nvcr.io',
  'registry.access.redhat.com',
]

/** An official image lies below `library` in a mirror of the whole hub, and directly in one made by hand. */
export function mirrored(image: string, mirror: string): string[] {
  const [first = '', ...rest] = image.split('/')
  const hasRegistry = rest.length > 0 && /[.:]|^localhost$/.test(first)
  if (image.startsWith(`${mirror}/`)) return [image]
  if (hasRegistry) return [`${mirror}/${rest.join('/')}`]
  return rest.length > 0 ? [`${mirror}/${image}`] : [`${mirror}/${image}`, `${mirror}/library/${image}`]
}

async function pull(name: string, engine: Engine, say: (line: string) => void, abort: AbortSignal): Promise<string | null> {
  try {
    await ask(
      async (signal) => {
        // Without a tag the engine would fetch every one of them.
        const whole = /[:@][^/]*$/.test(name) ? name : `${name}:latest`
        const stream = await engine.pull(whole, { abortSignal: signal })
        await new Promise<void>((resolve, reject) => {
          engine.modem.followProgress(
            stream,
            (error) => (error ? reject(error) : resolve()),
            ({ status, id }: { status?: string; id?: string }) => {
              if (status && /^(Pull complete|Digest|Status)/.test(status)) say([id, status].filter(Boolean).join(': '))
            },
          )
        })
      },
      { abort, timeoutMs: pullMs },
    )
    return null
  } catch (error) {
    abort.throwIfAborted()
    return wordsOfEngine(error)
  }
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

/** Only one of ours, and only when no container uses it: the engine itself refuses that without force. */
export async function removeImageArtifact({ reference }: Artifact, parts: ImageParts, abort: AbortSignal): Promise<void> {
  const { engine, labels } = parts
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
