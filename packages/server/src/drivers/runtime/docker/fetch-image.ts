import type { AuthConfig, ImageInspectInfo } from 'dockerode'
import { digestIn, familiarName, mirrorNames, registryOf, repositoryOf } from '../../registry/image-name.ts'
import type { RegistryLogin } from '../../registry/registry-login.ts'
import { EngineUnreachable } from '../engine-unreachable.ts'
import type { Artifact, ImageRequest } from '../runtime.ts'
import { callEngine, callEngineOrMissing, type Engine, engineMessage, statusOf } from './engine.ts'
import { BuiltImageMissing, ImageMissing, type ImageParts, refuseId } from './images.ts'
import { type Labels, labelIn } from './labels.ts'

const pullTimeoutMs = 15 * 60_000
const accessTimeoutMs = 30_000

/** The project that needs an image, with the registry credentials of its organisation. */
export interface ImageUser {
  projectId: string
  logins: readonly RegistryLogin[]
  /** The project's deployment already got this image: a local copy is used without a request to its registry. */
  isGranted?: boolean
  /** Resolves the tag and pulls its digest, so that no tag stays in the engine and keeps the image for good. */
  wantsDigest?: boolean
}

/** Returns the local name of the image. Pulls it if it does not exist locally. */
export async function ensureImage(
  image: string,
  parts: ImageParts,
  user: ImageUser,
  report: (line: string) => void,
  abort: AbortSignal,
): Promise<string> {
  const { engine, labels } = parts
  refuseForeign(image, user.projectId, labels)
  if (isFullId(image)) return findById(image, { engine, labels }, user.projectId, abort)
  const isOwn = isOwnName(image, user.projectId, labels)
  const sources = isOwn ? [image] : sourcesOf(image, parts, user)
  for (const name of [...sources, image]) {
    if (!(await findLocal(name, image, parts, user, abort))) continue
    if (!user.isGranted) await checkAccess(name, parts, user, abort)
    return name
  }
  // Never pulled: at a registry, this name may belong to any user.
  if (isOwn) throw new BuiltImageMissing(`The image ${image} was built here and no longer exists`)
  const { name } = await pullFromSources(image, sources, parts, user, report, abort)
  return name
}

/** Pulls the image even if it exists locally. Returns its version. */
export async function fetchImage(
  { image, owner, registryLogins = [] }: ImageRequest,
  parts: ImageParts,
  report: (line: string) => void,
  abort: AbortSignal,
): Promise<Artifact> {
  const user = { projectId: owner.projectId, logins: registryLogins, wantsDigest: true }
  refuseId(image)
  if (isBuiltName(image)) throw notForProject(image)
  const { name, digest } = await pullFromSources(image, sourcesOf(image, parts, user), parts, user, report, abort).catch(
    async (error) => {
      if (!(error instanceof ImageMissing) || error instanceof AccessDenied) throw error
      return { name: await fallBackToLocal(image, parts, user, error, report, abort), digest: null }
    },
  )
  const knownDigest = digest ?? digestIn(name)
  const reference = knownDigest ? `${repositoryOf(name)}@${knownDigest}` : name
  const info = await findLocal(reference, image, parts, user, abort)
  if (!info) throw new ImageMissing(`The image ${image} was pulled, but the engine does not have it as ${reference}`)
  return { kind: 'image', reference, sizeBytes: info.Size, startCommand: null, exposedPorts: exposedPortsOf(info) }
}

/** Falls back to a local image if no registry responds, such as one that was loaded by hand. */
async function fallBackToLocal(
  image: string,
  parts: ImageParts,
  user: ImageUser,
  failure: ImageMissing,
  report: (line: string) => void,
  abort: AbortSignal,
): Promise<string> {
  for (const name of [...sourcesOf(image, parts, user), image]) {
    if (parts.privateRepositories.has(repositoryOf(name)) || !(await findLocal(name, image, parts, user, abort))) continue
    report(`Warning: ${failure.message}. Using the local image of that name.`)
    return name
  }
  throw failure
}

const exposedPortsOf = ({ Config }: ImageInspectInfo): number[] =>
  Object.keys(Config?.ExposedPorts ?? {})
    .flatMap((port) => (/^\d+(\/tcp)?$/.test(port) ? [Number.parseInt(port, 10)] : []))
    .sort((left, right) => left - right)

/** Names to pull. With a login for the image's registry it is pulled from there, not from the mirror. */
function sourcesOf(image: string, { imageMirror }: ImageParts, { logins }: ImageUser): string[] {
  return imageMirror === null || loginFor(image, logins) ? [image] : mirrorNames(image, imageMirror)
}

const loginFor = (name: string, logins: readonly RegistryLogin[]): RegistryLogin | undefined =>
  logins.find(({ host }) => host === registryOf(name))

const authOf = (login: RegistryLogin): AuthConfig => ({
  username: login.username,
  password: login.password.reveal(),
  // Docker Hub's credentials use its old address.
  serveraddress: login.host === 'docker.io' ? 'https://index.docker.io/v1/' : login.host,
})

/** The registry denies the project's organisation access to the image. */
class AccessDenied extends ImageMissing {}

/** Checks with the registry that the organisation may use a private image, which the engine may have pulled for another one. */
async function checkAccess(name: string, parts: ImageParts, { logins }: ImageUser, abort: AbortSignal): Promise<void> {
  if (!parts.privateRepositories.has(repositoryOf(name))) return
  const login = loginFor(name, logins)
  const found = await queryRegistry(name, login, parts.engine, abort)
  if ('reason' in found) throw accessDenied(name, login, found.reason)
}

const accessDenied = (name: string, login: RegistryLogin | undefined, reason: string) =>
  new AccessDenied(`The image ${name} is private, and ${registryOf(name)} ${refusalText(login)}: ${reason}. ${loginAdvice(name)}`)

const refusalText = (login: RegistryLogin | undefined) =>
  login ? `denied access to ${login.username}` : 'was queried without a login'

const loginAdvice = (name: string) => `Add a login for ${registryOf(name)} to the organisation's registries`

/** Digest of the image at its registry, null if it has none, or the reason why the registry does not return the image. */
async function queryRegistry(
  name: string,
  login: RegistryLogin | undefined,
  engine: Engine,
  abort: AbortSignal,
): Promise<{ digest: string | null } | { reason: string }> {
  try {
    const distribution = () => engine.getImage(withDefaultTag(name)).distribution(login ? { authconfig: authOf(login) } : {})
    const found = (await callEngine(distribution, { abort, timeoutMs: accessTimeoutMs })) as {
      Descriptor?: { digest?: string }
    } | null
    const digest = found?.Descriptor?.digest ?? ''
    return { digest: /^sha256:[0-9a-f]{64}$/.test(digest) ? digest : null }
  } catch (error) {
    abort.throwIfAborted()
    if (error instanceof EngineUnreachable) return { reason: `no answer within ${accessTimeoutMs / 1000} s` }
    if (statusOf(error) === undefined) throw error
    return { reason: withoutPassword(engineMessage(error), login) }
  }
}

interface Pulled {
  name: string
  digest: string | null
}

async function pullFromSources(
  image: string,
  sources: readonly string[],
  parts: ImageParts,
  user: ImageUser,
  report: (line: string) => void,
  abort: AbortSignal,
): Promise<Pulled> {
  const { registries, imageMirror, engine, privateRepositories } = parts
  const isMirrored = imageMirror !== null && !loginFor(image, user.logins)
  if (!isMirrored && registries !== null && !registries.includes(registryOf(image)))
    throw new ImageMissing(
      `The image ${image} is at ${registryOf(image)}, which is not allowed. Allowed registries: ${registries.join(', ')}`,
    )
  const reasons: string[] = []
  for (const name of sources) {
    const login = loginFor(name, user.logins)
    const isPrivate = privateRepositories.has(repositoryOf(name))
    const found = isPrivate || user.wantsDigest ? await queryRegistry(name, login, engine, abort) : { digest: null }
    if (isPrivate && 'reason' in found) throw accessDenied(name, login, found.reason)
    const isDeniedWithoutLogin = login && 'reason' in (await queryRegistry(name, undefined, engine, abort))
    if (isDeniedWithoutLogin) privateRepositories.add(repositoryOf(name))
    report(`Fetching the image ${name}`)
    // Without a digest, the pull reports the reason.
    const digest = user.wantsDigest && 'digest' in found ? found.digest : null
    const pulled = await pull(digest ? `${repositoryOf(name)}@${digest}` : name, login, engine, report, abort)
    if ('digest' in pulled) return { name, ...pulled }
    reasons.push(pulled.reason)
  }
  const isDenied = reasons.every((reason) => /no basic auth|unauthorized|denied|authentication required/i.test(reason))
  throw new ImageMissing(
    `The image ${image} does not exist locally and could not be pulled: ${reasons.join('; ')}. ` +
      (isDenied ? loginAdvice(image) : 'Without a public registry, set BERTH_IMAGE_MIRROR, or load the image into the engine'),
  )
}

/** Adds the default tag. Without one, the engine would pull every tag. */
const withDefaultTag = (name: string) => (/[:@][^/]*$/.test(name) ? name : `${name}:latest`)

async function pull(
  name: string,
  login: RegistryLogin | undefined,
  engine: Engine,
  report: (line: string) => void,
  abort: AbortSignal,
): Promise<{ digest: string | null } | { reason: string }> {
  let digest: string | null = null
  try {
    await callEngine(
      async (signal) => {
        // `engine.pull` takes the login as an option, and the client would also write the password into the query.
        const stream = login
          ? await engine.createImage(authOf(login), { fromImage: withDefaultTag(name), abortSignal: signal })
          : await engine.pull(withDefaultTag(name), { abortSignal: signal })
        await new Promise<void>((resolve, reject) => {
          engine.modem.followProgress(
            stream,
            (error) => (error ? reject(error) : resolve()),
            ({ status, id }: { status?: string; id?: string }) => {
              digest = /^Digest: (sha256:[0-9a-f]{64})$/.exec(status ?? '')?.[1] ?? digest
              if (status && /^(Pull complete|Digest|Status)/.test(status)) report([id, status].filter(Boolean).join(': '))
            },
          )
        })
      },
      { abort, timeoutMs: pullTimeoutMs },
    )
    return { digest }
  } catch (error) {
    abort.throwIfAborted()
    return { reason: withoutPassword(engineMessage(error), login) }
  }
}

/** Removes the password from an error message: a registry may repeat the credentials that it received. */
function withoutPassword(text: string, login: RegistryLogin | undefined): string {
  if (!login) return text
  const password = login.password.reveal()
  const encoded = Buffer.from(`${login.username}:${password}`).toString('base64')
  return text.replaceAll(password, '[secret]').replaceAll(encoded, '[secret]')
}

/** Local image of that name, if this project may use it. */
async function findLocal(
  name: string,
  image: string,
  { engine, labels }: ImageParts,
  { projectId }: ImageUser,
  abort: AbortSignal,
): Promise<ImageInspectInfo | undefined> {
  const found = await callEngineOrMissing(() => engine.getImage(name).inspect(), { abort })
  if (!found || !hasName(name, found)) return undefined
  const imageLabels = found.Config?.Labels
  if (labels.isThisBerth(imageLabels) && labelIn(imageLabels, 'project') !== projectId) throw notForProject(image)
  return found
}

const isFullId = (image: string) => /^sha256:[0-9a-f]{64}$/.test(image)

/**
 * Finds an image by id: an adopted container may run one that has lost its name. An id cannot be pulled. Images that were
 * built for other projects are recognized by their label.
 */
async function findById(
  image: string,
  { engine, labels }: Pick<ImageParts, 'engine' | 'labels'>,
  projectId: string,
  abort: AbortSignal,
): Promise<string> {
  const found = await callEngineOrMissing(() => engine.getImage(image).inspect(), { abort })
  const imageLabels = found?.Config?.Labels
  if (found?.Id !== image || (labels.isThisBerth(imageLabels) && labelIn(imageLabels, 'project') !== projectId))
    throw new ImageMissing(`The image ${image} does not exist locally, and images cannot be pulled by id. Use a name with a tag.`)
  return image
}

/** Refuses images that were built for another project. */
function refuseForeign(image: string, projectId: string, labels: Labels): void {
  if (isBuiltName(image) && !isOwnName(image, projectId, labels)) throw notForProject(image)
}

const isBuiltName = (image: string) => /^berth-[0-9a-f]{16}\//.test(familiarName(image))

const isOwnName = (image: string, projectId: string, { instance }: Labels) =>
  familiarName(image).startsWith(`berth-${instance}/${projectId}:`)

/** The message is the same whether the image exists or not. */
const notForProject = (image: string) => new ImageMissing(`The image ${image} cannot be used by this project`)

/**
 * Whether a local image really has this name. The engine also finds images by a prefix of their id, so a few guesses would
 * find another project's image.
 */
function hasName(name: string, { RepoTags, RepoDigests }: ImageInspectInfo): boolean {
  const familiar = familiarName(name)
  const [repository = '', digest] = familiar.split('@')
  if (digest === undefined) return (RepoTags ?? []).includes(familiar)
  return (RepoDigests ?? []).includes(`${repository.replace(/:[^/:]*$/, '')}@${digest}`)
}
