import { existsSync } from 'node:fs'
import fastifyStatic from '@fastify/static'
import type { FastifyInstance } from 'fastify'

/** The built dashboard at `/`; its own paths (`/projects/…`) all get the one page. */
export async function serveDashboard(app: FastifyInstance, folder: string): Promise<void> {
  if (!existsSync(folder)) {
    app.get('/', (_request, reply) =>
      reply.type('text/plain').send('Berth is running; its dashboard is not built: npm run build\n'),
    )
    return
  }
  await app.register(fastifyStatic, {
    root: folder,
    wildcard: false,
    index: false,
    cacheControl: false,
    setHeaders: (reply, path) => {
      // Vite names assets after their content; the page itself must always be asked for anew.
      reply.header('cache-control', path.includes('/assets/') ? 'public, max-age=31536000, immutable' : 'no-cache')
    },
  })
  app.get('/*', (request, reply) => {
    if (request.url.startsWith('/api/') || request.url === '/api') return reply.callNotFound()
    return reply.header('content-security-policy', policy).header('cache-control', 'no-cache').sendFile('index.html')
  })
}

const policy =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: https:; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
