import { randomBytes } from 'node:crypto'
import { app, client, type tokens } from './emulated-github.ts'
import type { AppHook } from './github-state.ts'
import type { Answer, Call, Route } from './web-app.ts'

interface Manifest {
  name: string
  url: string
  redirect_url: string
  callback_urls: string[]
  request_oauth_on_install: boolean
  public: boolean
  hook_attributes?: { url: string; active: boolean }
  default_permissions: Record<string, string>
  default_events?: string[]
}

interface HostParts {
  url: string
  privateKey: string
  authorize(url: string, login: keyof typeof tokens): Promise<URL>
}

/** Apps that are created from a manifest, following GitHub's documentation. The emulator's own app stands for the new one. */
export class CreatedApps {
  /** Manifests that a browser has sent, in order. */
  readonly manifests: Manifest[] = []
  /** Deliveries of the app; null: it has no webhook. */
  hook: AppHook | null = null
  readonly #codes = new Map<string, Manifest>()
  readonly #parts: HostParts

  constructor(parts: HostParts) {
    this.#parts = parts
  }

  /** Presses "Create GitHub App" on the page of the manifest: the address that the browser returns to. */
  create(manifest: Manifest, state: string): URL {
    const code = randomBytes(20).toString('hex')
    this.manifests.push(manifest)
    this.#codes.set(code, manifest)
    const url = new URL(manifest.redirect_url)
    url.search = new URLSearchParams({ code, state }).toString()
    return url
  }

  /** Presses "Install" as ann: the address that the browser returns to. */
  async install(state: string): Promise<URL> {
    const { callback_urls, request_oauth_on_install } = this.manifests.at(-1)!
    const form = { client_id: client.id, redirect_uri: callback_urls[0]!, state }
    const back = request_oauth_on_install
      ? await this.#parts.authorize(`${this.#parts.url}/login/oauth/authorize?${new URLSearchParams(form)}`, 'ann')
      : new URL(`${callback_urls[0]}?${new URLSearchParams({ state })}`)
    back.searchParams.set('installation_id', String(app.installationId))
    back.searchParams.set('setup_action', 'install')
    return back
  }

  routes(): Record<string, Route> {
    const register: Route = (call) => manifestPage(call)
    return {
      'POST /settings/apps/new': register,
      'POST /organizations/:org/settings/apps/new': register,
      'POST /settings/apps': (call) => {
        const form = new URLSearchParams(call.body.toString())
        return redirectTo(this.create(JSON.parse(form.get('manifest')!), form.get('state')!))
      },
      'POST /app-manifests/:code/conversions': (call) => this.#convert(call.params.code!),
      'GET /apps/:slug/installations/new': (call) => page(form('/apps/install', 'Install', { state: call.query.get('state')! })),
      'POST /apps/install': async (call) =>
        redirectTo(await this.install(new URLSearchParams(call.body.toString()).get('state')!)),
    }
  }

  #convert(code: string): Answer {
    const manifest = this.#codes.get(code)
    if (!manifest) return { status: 404, json: { message: 'Not Found' } }
    this.#codes.delete(code)
    const hookUrl = manifest.hook_attributes?.url
    this.hook = hookUrl ? { url: hookUrl, secret: randomBytes(20).toString('hex'), events: manifest.default_events ?? [] } : null
    return {
      status: 201,
      json: {
        ...{ id: app.id, slug: app.slug, name: manifest.name, html_url: `${this.#parts.url}/apps/${app.slug}` },
        ...{ client_id: client.id, client_secret: client.secret, pem: this.#parts.privateKey },
        webhook_secret: this.hook?.secret ?? null,
      },
    }
  }
}

const escaped = (text: string) => text.replace(/[&<>"]/g, (mark) => `&#${mark.codePointAt(0)};`)

const page = (body: string): Answer => ({
  text: `<!doctype html><title>GitHub</title>${body}`,
  headers: { 'content-type': 'text/html; charset=utf-8' },
})

const form = (action: string, button: string, fields: Record<string, string>) =>
  `<form method="post" action="${action}">${Object.entries(fields)
    .map(([name, value]) => `<input type="hidden" name="${name}" value="${escaped(value)}">`)
    .join('')}<button>${button}</button></form>`

function manifestPage(call: Call): Answer {
  const manifest = new URLSearchParams(call.body.toString()).get('manifest') ?? ''
  const state = call.query.get('state') ?? ''
  return page(`<h1>${escaped(JSON.parse(manifest).name)}</h1>${form('/settings/apps', 'Create GitHub App', { manifest, state })}`)
}

const redirectTo = (url: URL): Answer => ({ status: 302, headers: { location: url.href } })
