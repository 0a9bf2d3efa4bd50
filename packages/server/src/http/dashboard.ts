import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import fastifyStatic from '@fastify/static'
import type { FastifyInstance } from 'fastify'

/** The built dashboard at `/`: its files by their names, and for its own paths (`/projects/…`) the one page. */
export async function serveDashboard(app: FastifyInstance, folder: string, uploadOrigin: string | null): Promise<void> {
  if (!existsSync(folder)) {
    app.get('/', (_request, reply) =>
      reply.type('text/plain').send('Berth is running, but its dashboard is not built. Run npm run build.\n'),
    )
    return
  }
  await app.register(fastifyStatic, {
    root: folder,
    // It would make two routes of each file, and there are more files than routes of the API.
    serve: false,
    // The build has left a compressed file beside each script and style.
    preCompressed: true,
    cacheControl: false,
    setHeaders: (reply, path) => {
      // Vite names assets after their content; all else must always be asked for anew.
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
      .header('content-security-policy', policy(nonce, uploadOrigin))
      .header('cache-control', 'no-store')
      .header('referrer-policy', 'same-origin')
      .header('x-content-type-options', 'nosniff')
      .type('text/html; charset=utf-8')
      .send((frontPaths.test(path) ? frontPage : page).replaceAll(noncePlace, nonce))
  })
}

/** Seen before signing in: these have no frame around them, so none is shown while they load. */
const frontPaths = /^(?:setup|sign-in|sign-up|invitations)(?:\/|$)/

/** Without the page, which goes out with its policy, without what the build noted for itself, and without the compressed files, which go out under the names of the others. */
function filesIn(folder: string): ReadonlySet<string> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  const paths = entries.map(({ parentPath, name }) => relative(folder, join(parentPath, name)))
  return new Set(paths.filter((path) => path !== 'index.html' && !/(?:^|\/)\.|\.(?:br|gz)$/.test(path)))
}

/** The word that the build leaves in the page where the nonce belongs; packages/dashboard/vite.config.ts says the same. */
const noncePlace = 'berth-style-nonce'

/**
 * Scripts only from the instance's own files; a style tag only with this page's nonce; nothing from any other host. An upload
 * may go to the object store that the operator named.
 */
const policy = (nonce: string, uploadOrigin: string | null) =>
  [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "font-src 'self'",
    `connect-src 'self'${uploadOrigin ? ` ${uploadOrigin}` : ''}`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'self'",
  ].join('; ')
