import { allOf, anyOf, dependency, file, has, manifest, not, script, setting } from '../signs.ts'
import type { App, Plan, Stack } from '../stack.ts'
import { settingIn } from './node-frameworks.ts'
import { entryFile, server, site, startEntry } from './node-plans.ts'

const uses = (...names: string[]) => dependency('npm', ...names)
const webServers = ['express', 'fastify', 'hono', '@hono/node-server', 'koa', '@hapi/hapi', 'restify', 'polka', 'h3']

/** A start script that runs a server: a page bundler next to it only builds the server's front end. */
export const startsServer = script('start', /(?:^|\s)(?:node|tsx|ts-node|bun|pm2(?:-runtime)?)(?:\s|$)/)
const hasOwnServer = allOf(startsServer, anyOf(uses(...webServers), not(file('index.html', 'the first page'))))
const vitePages = anyOf(
  file('index.html', 'the first page'),
  file('src/index.html', 'the first page'),
  allOf(script('build', /\bvite build\b/), not(setting('vite.config.*', /\blib\s*:/, 'builds a library'))),
)

/** Single-page app builders and plain servers. */
export const nodeApps: readonly Stack[] = [
  {
    framework: 'create-react-app',
    when: allOf(uses('react-scripts'), not(hasOwnServer)),
    plan: site({ build: 'react-scripts build', output: 'build' }),
  },
  {
    framework: 'vue-cli',
    when: allOf(uses('@vue/cli-service'), not(hasOwnServer)),
    plan: site({ build: 'vue-cli-service build', output: (app) => settingIn(app, 'vue.config.*', 'outputDir', 'dist') }),
  },
  {
    framework: 'vite',
    when: allOf(uses('vite'), vitePages, not(hasOwnServer)),
    plan: site({ build: 'vite build', output: (app) => settingIn(app, 'vite.config.*', 'outDir', 'dist') }),
  },
  { framework: 'express', when: uses('express'), plan: webServer },
  { framework: 'fastify', when: uses('fastify'), plan: webServer },
  { framework: 'hono', when: uses('hono'), plan: webServer },
  { framework: 'koa', when: uses('koa'), plan: webServer },
]

const usesBun = anyOf(file('bun.lock', 'a Bun project'), file('bun.lockb', 'a Bun project'), file('bunfig.toml', 'a Bun project'))
const hasStart = anyOf(script('start'), (app) => (entryFile(app) ? [] : null))
const isNode = manifest('npm', 'a package of Node')

/** Programs without a framework. */
export const plainNode: readonly Stack[] = [
  { framework: 'bun', when: allOf(usesBun, isNode, hasStart), plan: plainServer },
  { framework: 'node', when: allOf(isNode, hasStart), plan: plainServer },
]

/** Any other package: tools, a library, or an unknown kind of build. */
export const otherNode: readonly Stack[] = [{ framework: 'node', when: isNode, plan: server({ port: 3000 }) }]

function webServer(app: App): Promise<Plan> {
  return server({ port: 3000, start: startEntry })(app)
}

/** Libraries that consume messages instead of serving requests. */
const messageLibraries = [
  'discord.js',
  'telegraf',
  'grammy',
  'node-telegram-bot-api',
  '@slack/bolt',
  'bullmq',
  'bull',
  'agenda',
  'amqplib',
  'kafkajs',
]

function plainServer(app: App): Promise<Plan> {
  const type = has(app, 'npm', ...messageLibraries) && !has(app, 'npm', ...webServers) ? 'worker' : 'app'
  return server({ port: 3000, type, start: startEntry })(app)
}
