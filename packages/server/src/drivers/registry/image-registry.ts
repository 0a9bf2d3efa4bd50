import { createHash } from 'node:crypto'
import { WebRequestFailed, WebRequestRefused } from '../web-request/failures.ts'
import type { OutgoingRequest, WebRequest, WebResponse } from '../web-request/web-request.ts'
import { digestIn, mirrorNames, registryOf, repositoryOf } from './image-name.ts'
import { isLoopback, mayGetPassword, parseChallenge } from './registry-challenge.ts'
import type { RegistryLogin } from './registry-login.ts'

/** Why the digest of an image could not be resolved. The message names the host and never a credential. */
export class RegistryFailure extends Error {
  override readonly name = 'RegistryFailure'
  readonly reason: 'not_allowed' | 'denied' | 'not_found' | 'unreachable' | 'invalid'

  constructor(reason: RegistryFailure['reason'], message: string) {
    super(message)
    this.reason = reason
  }
}

export interface ImageRegistry {
  /**
   * Resolves the current digest of an image name. Requests the manifest's headers, with the login for the host if there is one;
   * nothing is downloaded. Rejects with `RegistryFailure`.
   */
  digestOf(image: string, logins: readonly RegistryLogin[], abort: AbortSignal): Promise<string>
}

export interface ImageRegistrySettings {
  web: WebRequest
  /** Registries that images may be pulled from; null: any. */
  registries: readonly string[] | null
  imageMirror: string | null
  timeoutMs?: number
}

const manifestTypes = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
].join(', ')

const requestTimeoutMs = 10_000
/** The largest manifest that registries must accept. */
const maxManifestBytes = 4 * 1024 * 1024
const maxTokenBytes = 64 * 1024
const maxRedirects = 3

export function createImageRegistry(settings: ImageRegistrySettings): ImageRegistry {
  const { registries, imageMirror } = settings
  return {
    async digestOf(image, logins, abort) {
      const pinned = digestIn(image)
      if (pinned) return pinned
      const hasLogin = logins.some(({ host }) => host === registryOf(image))
      const fromMirror = imageMirror !== null && !hasLogin
      if (!fromMirror && registries !== null && !registries.includes(registryOf(image)))
        throw new RegistryFailure('not_allowed', `This instance does not pull images from ${registryOf(image)}`)
      const names = fromMirror ? mirrorNames(image, imageMirror) : [image]
      let failure: unknown
      for (const name of names) {
        const login = logins.find(({ host }) => host === registryOf(name)) ?? null
        try {
          return await new ManifestRequest(name, login, settings, abort).digest()
        } catch (error) {
          abort.throwIfAborted()
          failure ??= error
        }
      }
      throw failure
    },
  }
}

/** A manifest request to one registry. */
class ManifestRequest {
  readonly #name: string
  readonly #origin: URL
  readonly #path: string
  readonly #url: URL
  readonly #login: RegistryLogin | null
  readonly #settings: ImageRegistrySettings
  readonly #abort: AbortSignal
  /** Sent only to the registry's own origin. */
  #authorization: string | null = null

  constructor(image: string, login: RegistryLogin | null, settings: ImageRegistrySettings, abort: AbortSignal) {
    this.#name = registryOf(image)
    const host = this.#name === 'docker.io' ? 'registry-1.docker.io' : this.#name
    const plain = URL.parse(`http://${host}`)
    if (!plain) throw new RegistryFailure('invalid', `${this.#name} is not a valid registry host`)
    this.#origin = isLoopback(plain.hostname) ? plain : new URL(`https://${host}`)
    this.#path = pathOf(image)
    this.#url = new URL(`/v2/${this.#path}/manifests/${tagOf(image)}`, this.#origin)
    this.#login = login
    this.#settings = settings
    this.#abort = abort
  }

  async digest(): Promise<string> {
    let response = await this.#manifest('HEAD')
    if (response.status === 401 && (await this.#signIn(response))) response = await this.#manifest('HEAD')
    if (response.status === 200 && !response.headers['docker-content-digest'])
      return this.#digestOfBody(await this.#manifest('GET'))
    this.#check(response)
    const digest = response.headers['docker-content-digest'] ?? ''
    if (!/^sha256:[0-9a-f]{64}$/.test(digest)) throw this.#failure('invalid', 'sent a digest that is not sha256')
    return digest
  }

  /** The digest computed from the manifest, for registries that send no digest header. */
  #digestOfBody(answer: WebResponse): string {
    this.#check(answer)
    if (answer.truncated)
      throw this.#failure('invalid', `sent a manifest that is incomplete or larger than ${maxManifestBytes} bytes`)
    return `sha256:${createHash('sha256').update(answer.body).digest('hex')}`
  }

  #check({ status }: WebResponse): void {
    if (status === 200) return
    if (status === 404) throw this.#failure('not_found', `has no image ${this.#path} with that tag`)
    if (status === 401 || status === 403)
      throw this.#failure(
        'denied',
        this.#login ? 'rejected the login, or the login has no access to this image' : 'requires a login',
      )
    throw this.#failure(status >= 500 || status === 429 ? 'unreachable' : 'invalid', `answered ${status}`)
  }

  /** Follows a few redirects; the credential is sent only to the registry's own origin. */
  async #manifest(method: 'HEAD' | 'GET'): Promise<WebResponse> {
    let url = this.#url
    for (let hops = 0; hops <= maxRedirects; hops++) {
      const isRegistryOrigin = url.origin === this.#origin.origin
      const headers = {
        accept: manifestTypes,
        ...(isRegistryOrigin && this.#authorization ? { authorization: this.#authorization } : {}),
      }
      const answer = await this.#send({ url: url.href, method, headers, maxResponseBytes: maxManifestBytes })
      const next = answer.outcome === 'redirected' ? URL.parse(answer.headers.location ?? '', url.href) : null
      if (!next) return answer
      if (next.protocol !== 'https:' && next.origin !== this.#origin.origin)
        throw this.#failure('invalid', 'redirects to a URL that is not https')
      url = next
    }
    throw this.#failure('invalid', 'redirects too often')
  }

  /** Returns false when there is no way to sign in. */
  async #signIn({ headers }: WebResponse): Promise<boolean> {
    const challenge = parseChallenge(headers['www-authenticate'])
    if (challenge?.kind === 'bearer') {
      this.#authorization = `Bearer ${await this.#token(challenge.realm, challenge.service)}`
      return true
    }
    if (challenge?.kind !== 'basic' || !this.#login) return false
    this.#authorization = basic(this.#login)
    return true
  }

  /** Requests a token for this image only; the scope in the registry's challenge is ignored. */
  async #token(realm: URL, service: string | null): Promise<string> {
    if (realm.protocol !== 'https:' && realm.origin !== this.#origin.origin)
      throw this.#failure('invalid', 'names a token URL that is not https')
    const isTrusted = mayGetPassword(realm, this.#origin)
    if (this.#login && !isTrusted)
      throw this.#failure(
        'denied',
        `requests a login at ${realm.hostname}. Its password is not sent to a host of another domain.`,
      )
    const url = new URL(realm)
    if (service !== null) url.searchParams.set('service', service)
    url.searchParams.set('scope', `repository:${this.#path}:pull`)
    const headers: Record<string, string> = this.#login ? { authorization: basic(this.#login) } : {}
    const answer = await this.#send({ url: url.href, method: 'GET', headers, maxResponseBytes: maxTokenBytes })
    if (answer.status === 401 || answer.status === 403) this.#check(answer)
    const token = answer.status === 200 && !answer.truncated ? parseToken(answer.body) : null
    if (token === null) throw this.#failure('invalid', 'returned no token')
    return token
  }

  async #send(request: OutgoingRequest): Promise<WebResponse> {
    try {
      return await this.#settings.web.send({
        ...request,
        timeoutMs: this.#settings.timeoutMs ?? requestTimeoutMs,
        abort: this.#abort,
      })
    } catch (error) {
      this.#abort.throwIfAborted()
      if (error instanceof WebRequestRefused) throw new RegistryFailure('not_allowed', error.message)
      if (error instanceof WebRequestFailed) throw new RegistryFailure('unreachable', error.message)
      throw error
    }
  }

  #failure(reason: RegistryFailure['reason'], message: string): RegistryFailure {
    return new RegistryFailure(reason, `The registry ${this.#name} ${message}`)
  }
}

const basic = ({ username, password }: RegistryLogin) =>
  `Basic ${Buffer.from(`${username}:${password.reveal()}`).toString('base64')}`

function parseToken(body: string): string | null {
  try {
    const { token, access_token } = JSON.parse(body) as { token?: unknown; access_token?: unknown }
    const found = token ?? access_token
    return typeof found === 'string' && /^[\x21-\x7e]+$/.test(found) ? found : null
  } catch {
    return null
  }
}

/** The repository path in the registry: Docker Hub has official images below `library`. */
function pathOf(image: string): string {
  const repository = repositoryOf(image)
  const [first = '', ...rest] = repository.split('/')
  if (registryOf(image) !== 'docker.io') return rest.join('/')
  return rest.length === 0 ? `library/${first}` : repository
}

const tagOf = (image: string): string => /:([^/:@]+)(@.*)?$/.exec(image)?.[1] ?? 'latest'
