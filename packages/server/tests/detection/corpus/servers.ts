import { type CorpusCase, npm, page } from './corpus.ts'

const listens = "require('http').createServer().listen(process.env.PORT || 3000)"

/** Programs in JavaScript that keep running. */
export const servers: readonly CorpusCase[] = [
  {
    name: 'express with a client of Prisma that no script generates',
    files: {
      'package.json': {
        scripts: { build: 'tsc', start: 'node a.js' },
        prisma: { schema: 'src/db/schema.prisma' },
        dependencies: { express: '4', '@prisma/client': '6' },
        devDependencies: { prisma: '6' },
      },
      'src/db/schema.prisma': '',
    },
    is: { buildCommand: 'npx --no-install prisma generate && npm run build', startCommand: 'node a.js' },
  },
  {
    name: 'express with a client of Prisma that its postinstall script generates',
    files: {
      'package.json': {
        scripts: { postinstall: 'prisma generate', build: 'tsc', start: 'node a.js' },
        dependencies: { express: '4', '@prisma/client': '6', prisma: '6' },
      },
      'prisma/schema.prisma': '',
    },
    is: { buildCommand: 'npm run build' },
  },
  {
    name: 'express with a script for production alone',
    files: npm(['express'], { build: 'tsc', 'start:dev': 'tsx watch src/index.ts', 'start:prod': 'node dist/index.js' }),
    is: { framework: 'express', startCommand: 'node dist/index.js', warnings: [] },
  },
  {
    name: 'express whose start script watches, beside one for production',
    files: npm(['express'], { start: 'nodemon src/a.ts', 'start:prod': 'node dist/a.js' }),
    is: { startCommand: 'node dist/a.js', warnings: [] },
  },
  {
    name: 'hono for bun without a lockfile',
    files: {
      'package.json': {
        name: 'x',
        scripts: { dev: 'bun run --hot src/index.ts' },
        dependencies: { hono: '^4' },
        devDependencies: { '@types/bun': 'latest' },
      },
      'src/index.ts': 'export default new Hono()',
    },
    is: { framework: 'hono', packageManager: 'bun', installCommand: 'bun install', startCommand: 'bun run src/index.ts' },
  },
  {
    name: 'qwik with a server of its own',
    files: npm(['@builder.io/qwik-city', 'express', 'vite'], {
      build: 'qwik build',
      'build.server': 'vite build -c adapters/express/vite.config.ts',
      serve: 'node server/entry.express',
      start: 'vite --open --mode ssr',
    }),
    is: {
      framework: 'qwik',
      type: 'app',
      buildCommand: 'npm run build',
      startCommand: 'node server/entry.express',
      warnings: [],
    },
  },
  {
    name: 'qwik as it is begun',
    files: npm(['@builder.io/qwik-city', 'vite'], { build: 'qwik build', start: 'vite --open --mode ssr' }),
    is: {
      framework: 'qwik',
      buildCommand: 'npx --no-install qwik build preview',
      startCommand: 'npx --no-install vite preview --host 0.0.0.0 --port $PORT',
      warnings: ["Qwik's preview server is used: `qwik add express` makes a server of its own"],
    },
  },
  {
    name: 'qwik that makes files',
    files: { ...npm(['@builder.io/qwik-city', 'vite'], { build: 'qwik build' }), 'adapters/static/vite.config.ts': '' },
    is: { framework: 'qwik', type: 'static', outputDirectory: 'dist' },
  },
  {
    name: 'adonisjs, whose start script is for what is built',
    files: {
      ...npm(['@adonisjs/core'], { build: 'node ace build', start: 'node bin/server.js', dev: 'node ace serve --hmr' }),
      'bin/server.ts': '',
      'ace.js': '',
    },
    is: {
      framework: 'adonisjs',
      type: 'app',
      buildCommand: 'npm run build',
      startCommand: 'node build/bin/server.js',
      port: 3333,
    },
  },
  {
    name: 'adonisjs before 6',
    files: {
      ...npm(['@adonisjs/core'], { build: 'node ace build --production', start: 'node server.js' }),
      'server.ts': '',
    },
    is: { framework: 'adonisjs', startCommand: 'node build/server.js' },
  },
  {
    name: 'express that serves a front end of vite, started by another script',
    files: {
      ...npm(['express', 'vite'], {
        build: 'vite build',
        start: 'npm run start-server',
        'start-server': 'node server/server.js',
      }),
      'index.html': page,
      'server/server.js': '',
    },
    is: { framework: 'express', type: 'app', buildCommand: 'npm run build', startCommand: 'node server/server.js' },
  },
  {
    name: 'nitro',
    files: npm(['nitropack'], { build: 'nitro build', dev: 'nitro dev' }),
    is: { framework: 'nitro', type: 'app', startCommand: 'node .output/server/index.mjs' },
  },
  {
    name: 'nitro that previews by script',
    files: npm(['nitropack'], { build: 'nitro build', start: 'node .output/server/index.mjs' }),
    is: { framework: 'nitro', startCommand: 'node .output/server/index.mjs' },
  },
  {
    name: 'solid-start',
    files: npm(['@solidjs/start', 'vinxi'], { dev: 'vinxi dev', build: 'vinxi build', start: 'vinxi start' }),
    is: { framework: 'solid-start', type: 'app', buildCommand: 'npm run build', startCommand: 'vinxi start' },
  },
  {
    name: 'tanstack-start',
    files: npm(['@tanstack/react-start', 'vite'], { build: 'vite build' }),
    is: { framework: 'tanstack-start', type: 'app', startCommand: 'node .output/server/index.mjs' },
  },
  {
    name: 'analog',
    files: npm(['@analogjs/platform', '@angular/core'], { start: 'ng serve', build: 'ng build' }),
    is: { framework: 'analog', type: 'app', startCommand: 'node dist/analog/server/index.mjs' },
  },
  {
    name: 'sveltekit with adapter-auto',
    files: npm(['@sveltejs/kit', '@sveltejs/adapter-auto', 'vite'], { build: 'vite build' }),
    is: {
      framework: 'sveltekit',
      type: 'app',
      startCommand: 'npx --no-install vite preview --host 0.0.0.0 --port $PORT',
      port: 4173,
    },
  },
  {
    name: 'sveltekit with adapter-node that writes elsewhere',
    files: {
      ...npm(['@sveltejs/kit', '@sveltejs/adapter-node'], { build: 'vite build' }),
      'svelte.config.js': "export default { kit: { adapter: adapter({ out: 'server' }) } }",
    },
    is: { framework: 'sveltekit', startCommand: 'node server' },
  },
  {
    name: 'sveltekit with adapter-node',
    files: npm(['@sveltejs/kit', '@sveltejs/adapter-node'], { build: 'vite build' }),
    is: { framework: 'sveltekit', startCommand: 'node build', port: 3000 },
  },
  {
    name: 'next',
    files: npm(['next', 'react'], { dev: 'next dev', build: 'next build', start: 'next start' }),
    is: { framework: 'nextjs', type: 'app', startCommand: 'next start', buildCommand: 'npm run build' },
  },
  {
    name: 'next whose start is its development server',
    files: npm(['next'], { build: 'next build', start: 'next dev' }),
    is: { framework: 'nextjs', startCommand: 'npx --no-install next start' },
  },
  {
    name: 'next whose start calls dev',
    files: npm(['next'], { build: 'next build', dev: 'next dev', start: 'npm run dev' }),
    is: { framework: 'nextjs', startCommand: 'npx --no-install next start' },
  },
  {
    name: 'nuxt',
    files: npm(['nuxt'], { build: 'nuxt build', dev: 'nuxt dev' }),
    is: { framework: 'nuxt', type: 'app', startCommand: 'node .output/server/index.mjs' },
  },
  {
    name: 'nestjs',
    files: npm(['@nestjs/core'], { build: 'nest build', start: 'nest start', 'start:prod': 'node dist/main' }),
    is: { framework: 'nestjs', startCommand: 'node dist/main', port: 3000 },
  },
  {
    name: 'nestjs with its starter port',
    files: {
      ...npm(['@nestjs/core'], { build: 'nest build', 'start:prod': 'node dist/main' }),
      'src/main.ts': 'await app.listen(4100)',
    },
    is: { framework: 'nestjs', port: 4100 },
  },
  {
    name: 'express',
    files: { ...npm(['express'], { start: 'node index.js' }), 'index.js': listens },
    is: { framework: 'express', type: 'app', startCommand: 'node index.js', port: 3000 },
  },
  {
    name: 'express by nodemon',
    files: { ...npm(['express', 'nodemon'], { start: 'nodemon server.js' }), 'server.js': listens },
    is: { framework: 'express', startCommand: 'node server.js' },
  },
  {
    name: 'express by nodemon in a folder',
    files: { ...npm(['express'], { start: 'nodemon ./src/server.js' }), 'src/server.js': listens },
    is: { framework: 'express', startCommand: 'node ./src/server.js' },
  },
  {
    name: 'express whose start calls serve',
    files: { ...npm(['express'], { start: 'npm run serve', serve: 'node bin/www' }), 'bin/www': listens },
    is: { framework: 'express', startCommand: 'node bin/www' },
  },
  {
    name: 'express whose start calls two scripts in turn',
    files: { ...npm(['express'], { start: 'yarn prod', prod: 'npm run serve', serve: 'node app.js' }), 'app.js': listens },
    is: { framework: 'express', startCommand: 'node app.js' },
  },
  {
    name: 'express with a hook before the called script',
    files: {
      ...npm(['express'], { start: 'npm run serve', preserve: 'node prepare.js', serve: 'node app.js' }),
      'app.js': listens,
    },
    is: { framework: 'express', startCommand: 'npm run start' },
  },
  {
    name: 'express in TypeScript',
    files: {
      ...npm(['express', 'typescript'], { build: 'tsc', start: 'node dist/index.js' }),
      'src/index.ts': 'app.listen(8081)',
      'tsconfig.json': {},
    },
    is: { framework: 'express', language: 'typescript', startCommand: 'node dist/index.js', port: 8081 },
  },
  {
    name: 'fastify',
    files: { ...npm(['fastify'], { start: 'node server.mjs' }), 'server.mjs': 'app.listen({ port: 8080 })' },
    is: { framework: 'fastify', port: 8080 },
  },
  {
    name: 'hono',
    files: {
      ...npm(['hono', '@hono/node-server'], { start: 'node dist/index.js', build: 'tsc', dev: 'tsx watch src/index.ts' }),
      'src/index.ts': 'serve({ fetch: app.fetch, port: 3000 })',
    },
    is: { framework: 'hono', type: 'app', startCommand: 'node dist/index.js' },
  },
  { name: 'koa', files: { ...npm(['koa']), 'app.js': listens }, is: { framework: 'koa', startCommand: 'node app.js' } },
  {
    name: 'an API beside its Vite pages',
    files: {
      ...npm(['express', 'vite', 'react'], { build: 'vite build', start: 'node server.js' }),
      'server.js': listens,
      'index.html': page,
    },
    is: { framework: 'express', type: 'app', buildCommand: 'npm run build' },
  },
  {
    name: 'plain node',
    files: { ...npm([], { start: 'node server.js' }), 'server.js': listens },
    is: { framework: 'node', type: 'app', startCommand: 'node server.js' },
  },
  {
    name: 'plain node with a watcher',
    files: { ...npm([], { start: 'node --watch server.js' }), 'server.js': listens },
    is: { framework: 'node', startCommand: 'node server.js' },
  },
  {
    name: 'a bot',
    files: { ...npm(['discord.js'], { start: 'node bot.js' }), 'bot.js': '' },
    is: { framework: 'node', type: 'worker', port: null },
  },
  {
    name: 'pnpm',
    files: {
      'package.json': {
        name: 'x',
        packageManager: 'pnpm@9.1.0',
        scripts: { start: 'node a.js' },
        dependencies: { express: '4' },
      },
      'pnpm-lock.yaml': '',
      'a.js': listens,
    },
    is: { packageManager: 'pnpm', installCommand: 'pnpm install --frozen-lockfile' },
  },
  {
    name: 'yarn 1',
    files: {
      'package.json': { name: 'x', scripts: { start: 'node a.js' }, dependencies: { express: '4' } },
      'yarn.lock': '# yarn lockfile v1',
      'a.js': listens,
    },
    is: { packageManager: 'yarn', installCommand: 'yarn install --frozen-lockfile' },
  },
  {
    name: 'yarn 4',
    files: {
      'package.json': {
        name: 'x',
        packageManager: 'yarn@4.2.0',
        scripts: { start: 'node a.js' },
        dependencies: { express: '4' },
      },
      'yarn.lock': '__metadata:\n  version: 8',
      'a.js': listens,
    },
    is: { packageManager: 'yarn', installCommand: 'yarn install --immutable' },
  },
  {
    name: 'bun',
    files: {
      'package.json': { name: 'x', scripts: { start: 'bun run index.ts' }, dependencies: { hono: '4' } },
      'bun.lock': '{}',
      'index.ts': 'export default { port: 3000, fetch }',
    },
    is: { packageManager: 'bun', type: 'app', startCommand: 'bun run index.ts' },
  },
  {
    name: 'deno with a manifest',
    files: { 'deno.json': { tasks: { start: 'deno run -A main.ts' } }, 'main.ts': 'Deno.serve(() => new Response())' },
    is: { framework: 'deno', startCommand: 'deno task start', port: 8000 },
  },
  {
    name: 'a bare file for Deno',
    files: { 'main.ts': 'Deno.serve({ port: 8001 }, () => new Response("x"))' },
    is: { framework: 'deno', type: 'app', startCommand: 'deno run --allow-net --allow-env --allow-read main.ts' },
  },
  {
    name: 'a bare file for Deno by its imports',
    files: { 'server.ts': 'import { Application } from "https://deno.land/x/oak/mod.ts"' },
    is: { framework: 'deno', startCommand: 'deno run --allow-net --allow-env --allow-read server.ts' },
  },
  {
    name: 'nx',
    files: { ...npm(['nx', 'express'], { start: 'nx serve', build: 'nx build' }), 'main.js': listens },
    is: { framework: 'express', startCommand: 'node main.js' },
  },
]
