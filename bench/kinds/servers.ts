import { type Kind, manifest } from './kind.ts'

const start = { start: 'node server.js' }
/** A server of one file. */
const server = (name: string, needs: object, source: string, more: Partial<Kind> = {}): Kind => ({
  name,
  says: `kind ${name}`,
  files: { 'package.json': manifest(name, { scripts: start, needs }), 'server.js': source },
  ...more,
})

/** Web servers in several languages and frameworks, each written as in the documentation of its framework. */
export const servers: readonly Kind[] = [
  server(
    'node-http',
    {},
    `import { createServer } from 'node:http'\ncreateServer((_, answer) => answer.end('kind node-http')).listen(process.env.PORT ?? 3000)`,
  ),
  server(
    'express',
    { express: '^4.21.0' },
    `import express from 'express'\nexpress().get('/', (_, answer) => answer.send('kind express')).listen(process.env.PORT || 3000)`,
  ),
  server(
    'express-fixed-port',
    { express: '^4.21.0' },
    `import express from 'express'\nexpress().get('/', (_, answer) => answer.send('kind express-fixed-port')).listen(3000)`,
  ),
  server(
    'fastify',
    { fastify: '^5.0.0' },
    `import Fastify from 'fastify'\nconst app = Fastify()\napp.get('/', async () => 'kind fastify')\nawait app.listen({ port: Number(process.env.PORT ?? 3000), host: '0.0.0.0' })`,
  ),
  server(
    'koa',
    { koa: '^2.15.0' },
    `import Koa from 'koa'\nnew Koa().use((context) => { context.body = 'kind koa' }).listen(process.env.PORT || 3000)`,
  ),
  server(
    'hapi',
    { '@hapi/hapi': '^21.3.0' },
    `import Hapi from '@hapi/hapi'\nconst server = Hapi.server({ port: process.env.PORT ?? 3000, host: '0.0.0.0' })\nserver.route({ method: 'GET', path: '/', handler: () => 'kind hapi' })\nawait server.start()`,
  ),
  server(
    'polka',
    { polka: '^0.5.2' },
    `import polka from 'polka'\npolka().get('/', (_, answer) => answer.end('kind polka')).listen(process.env.PORT || 3000)`,
  ),
  // The framework's template does not read PORT.
  server(
    'hono',
    { hono: '^4.6.0', '@hono/node-server': '^1.13.0' },
    `import { serve } from '@hono/node-server'\nimport { Hono } from 'hono'\nconst app = new Hono()\napp.get('/', (context) => context.text('kind hono'))\nserve({ fetch: app.fetch, port: 3000 })`,
  ),
  server(
    'h3',
    { h3: '^1.13.0' },
    `import { createServer } from 'node:http'\nimport { createApp, eventHandler, toNodeListener } from 'h3'\nconst app = createApp().use('/', eventHandler(() => 'kind h3'))\ncreateServer(toNodeListener(app)).listen(process.env.PORT || 3000)`,
  ),
  server(
    'ws',
    { ws: '^8.18.0' },
    `import { createServer } from 'node:http'\nimport { WebSocketServer } from 'ws'\nconst server = createServer((_, answer) => answer.end('kind ws'))\nnew WebSocketServer({ server })\nserver.listen(process.env.PORT || 3000)`,
  ),
  {
    name: 'nestjs-fixed-port',
    says: 'kind nestjs-fixed-port',
    files: {
      'package.json': {
        name: 'nest',
        private: true,
        scripts: { build: 'node build.js', start: 'nest start', 'start:prod': 'node dist/main' },
        dependencies: {
          '@nestjs/common': '^10.4.0',
          '@nestjs/core': '^10.4.0',
          '@nestjs/platform-express': '^10.4.0',
          'reflect-metadata': '^0.2.2',
          rxjs: '^7.8.1',
        },
      },
      'nest-cli.json': { sourceRoot: 'src' },
      'build.js': `require('node:fs').cpSync('src', 'dist', { recursive: true })`,
      'src/main.js': `require('reflect-metadata')
const { Controller, Get, Module } = require('@nestjs/common')
const { NestFactory } = require('@nestjs/core')
class Page { hello() { return 'kind nestjs-fixed-port' } }
Get()(Page.prototype, 'hello', Object.getOwnPropertyDescriptor(Page.prototype, 'hello'))
Controller()(Page)
class App {}
Module({ controllers: [Page] })(App)
NestFactory.create(App).then((app) => app.listen(3000))`,
    },
  },
  {
    name: 'typescript',
    says: 'kind typescript',
    files: {
      'package.json': manifest('typescript', { scripts: { start: 'node server.ts' } }),
      'server.ts': `import { createServer } from 'node:http'\nconst words: string = 'kind typescript'\ncreateServer((_, answer) => void answer.end(words)).listen(Number(process.env.PORT ?? 3000))`,
    },
  },
  {
    name: 'typescript-compiled',
    says: 'kind typescript-compiled',
    files: {
      'package.json': manifest('compiled', {
        scripts: { build: 'tsc', start: 'node dist/server.js' },
        tools: { typescript: '^5.6.0', '@types/node': '^22.0.0' },
      }),
      'tsconfig.json': {
        compilerOptions: { outDir: 'dist', module: 'nodenext', target: 'es2022', types: ['node'] },
        include: ['src'],
      },
      'src/server.ts': `import { createServer } from 'node:http'\nconst words: string = 'kind typescript-compiled'\ncreateServer((_, answer) => void answer.end(words)).listen(Number(process.env.PORT ?? 3000))`,
    },
  },
  {
    name: 'next',
    says: 'kind next',
    files: {
      'package.json': {
        name: 'next',
        private: true,
        scripts: { build: 'next build', start: 'next start' },
        dependencies: { next: '^15.0.0', react: '^19.0.0', 'react-dom': '^19.0.0' },
      },
      'app/layout.js': `export default function Layout({ children }) { return <html><body>{children}</body></html> }`,
      'app/page.js': `export const dynamic = 'force-dynamic'\nexport default function Page() { return <h1>{['kind', 'next'].join(' ')}</h1> }`,
    },
    settings: { healthCheck: { timeoutSeconds: 180 } },
  },
  // All packages of the framework must have the same version.
  {
    name: 'react-router',
    says: 'kind react-router',
    files: {
      'package.json': manifest('router', {
        scripts: { build: 'react-router build', start: 'react-router-serve ./build/server/index.js' },
        needs: {
          '@react-router/node': '7.18.4',
          '@react-router/serve': '7.18.4',
          isbot: '^5.1.0',
          react: '^19.0.0',
          'react-dom': '^19.0.0',
          'react-router': '7.18.4',
        },
        tools: { '@react-router/dev': '7.18.4', vite: '^6.0.0' },
      }),
      'vite.config.js': `import { reactRouter } from '@react-router/dev/vite'\nexport default { plugins: [reactRouter()] }`,
      'app/routes.js': `import { index } from '@react-router/dev/routes'\nexport default [index('home.jsx')]`,
      'app/home.jsx': `export default function Home() { return <h1>{['kind', 'react-router'].join(' ')}</h1> }`,
      'app/root.jsx': `import { Outlet, Scripts } from 'react-router'\nexport default function Root() { return <html><body><Outlet /><Scripts /></body></html> }`,
    },
    settings: { healthCheck: { timeoutSeconds: 180 } },
  },
  {
    name: 'astro-server',
    says: 'kind astro-server',
    files: {
      'package.json': manifest('astro-server', {
        scripts: { build: 'astro build', start: 'node ./dist/server/entry.mjs' },
        needs: { astro: '^5.0.0', '@astrojs/node': '^9.0.0' },
      }),
      'astro.config.mjs': `import node from '@astrojs/node'\nexport default { output: 'server', adapter: node({ mode: 'standalone' }), telemetry: false }`,
      'src/pages/index.astro': `---\nconst words = ['kind', 'astro-server'].join(' ')\n---\n<h1>{words}</h1>`,
    },
    settings: { healthCheck: { timeoutSeconds: 180 } },
  },
]
