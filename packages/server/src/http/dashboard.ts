import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import fastifyStatic from '@fastify/static'
import type { FastifyInstance } from 'fastify'

/** Serves the built dashboard at `/`: its files by name, and index.html for its client-side paths (`/projects/…`). */
export async function serveDashboard(app: FastifyInstance, folder: string, origins: DashboardOrigins): Promise<void> {
  if (!existsSync(folder)) {
    app.get('/', (_request, reply) =>
      reply.type('text/plain').send('Berth is running, but its dashboard is not built. Run npm run build.\n'),
    )
    return
  }
  await app.register(fastifyStatic, {
    root: folder,
    // Static routes would add two routes per file, more than the API has.
    serve: false,
    // The build creates a compressed file next to each script and style.
    preCompressed: true,
    cacheControl: false,
    setHeaders: (reply, path) => {
      // Vite puts a content hash into asset names; all other files must be revalidated.
      reply.header('x-content-type-options', 'nosniff')
      reply.header('cache-control', path.includes('/assets/') ? 'public, max-age=31536000, immutable' : 'no-cache')
    },
  })
  const page = readFileSync(join(folder, 'index.html'), 'utf8')
  const frontPage = page.replace(/<!--frame-->.*?<!--\/frame-->/s, '')
  const files = filesIn(folder)
  app.get<{ Params: { '*': string } }>('/*', (request, reply) => {
    const path = request.params['*']
    if (files.has(path)) return reply.sendFile(path)
    if (request.url.startsWith('/api/') || request.url === '/api') return reply.callNotFound()
    const nonce = randomBytes(16).toString('base64url')
    return reply
      .header('content-security-policy', policy(nonce, origins))
      .header('cache-control', 'no-store')
      .header('referrer-policy', 'same-origin')
      .header('x-content-type-options', 'nosniff')
      .type('text/html; charset=utf-8')
      .send((frontPaths.test(path) ? frontPage : page).replaceAll(noncePlaceholder, nonce))
  })
}

/** Pages before sign-in: they have no navigation frame, so none is shown while they load. */
const frontPaths = /^(?:setup|sign-in|sign-up|invitations)(?:\/|$)/

/**
 * Files to serve: without index.html, which is sent with its policy, without hidden build files, and without compressed variants.
 */
function filesIn(folder: string): ReadonlySet<string> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  const paths = entries.map(({ parentPath, name }) => relative(folder, join(parentPath, name)))
  return new Set(paths.filter((path) => path !== 'index.html' && !/(?:^|\/)\.|\.(?:br|gz)$/.test(path)))
}

/** The placeholder that the build leaves for the nonce; must match packages/dashboard/vite.config.ts. */
const noncePlaceholder = 'berth-style-nonce'

/** Other hosts that the dashboard may send to. */
export interface DashboardOrigins {
  /** The configured object store. */
  upload: string | null
  /** GitHub, which takes the manifest of a new app as a form. */
  form: string
}

/**
 * The content security policy: scripts and styles only from this instance, style tags only with the nonce, and requests to the named
 * origins only.
 */
const policy = (nonce: string, { upload, form }: DashboardOrigins) =>
  [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "font-src 'self'",
    `connect-src 'self'${upload ? ` ${upload}` : ''}`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
    `form-action 'self' ${form}`,
  ].join('; ')
