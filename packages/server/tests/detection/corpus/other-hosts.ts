import { expect } from 'vitest'
import { type CorpusCase, npm, page } from './corpus.ts'

const app = { ...npm(['express'], { start: 'node a.js' }), 'a.js': '' }
const vite = { ...npm(['vite'], { build: 'vite build' }), 'index.html': page }

/** Projects with configuration files of other hosts. */
export const otherHosts: readonly CorpusCase[] = [
  {
    name: 'render.yaml of a web service',
    files: {
      ...app,
      'render.yaml':
        'services:\n  - type: web\n    name: api\n    runtime: node\n    buildCommand: npm install && npm run compile\n    startCommand: node out/api.js\n    healthCheckPath: /healthz\n',
    },
    is: {
      type: 'app',
      installCommand: null,
      buildCommand: 'npm install && npm run compile',
      startCommand: 'node out/api.js',
      healthPath: '/healthz',
    },
  },
  {
    name: 'render.yaml of a static site',
    files: {
      ...vite,
      'render.yaml':
        'services:\n  - type: web\n    name: site\n    env: static\n    buildCommand: npm run build\n    staticPublishPath: ./dist/site\n',
    },
    is: { type: 'static', outputDirectory: 'dist/site' },
  },
  {
    name: 'render.yaml with cron jobs and a database',
    files: {
      ...app,
      'render.yaml':
        'databases:\n  - name: db\nservices:\n  - type: cron\n    name: nightly\n    schedule: "0 1 * * *"\n  - type: web\n    name: api\n    startCommand: node b.js\n',
    },
    is: { startCommand: 'node b.js' },
  },
  {
    name: 'railway.json',
    files: {
      ...app,
      'railway.json': {
        build: { buildCommand: 'npm run make' },
        deploy: { startCommand: 'node made.js', healthcheckPath: '/up' },
      },
    },
    is: { buildCommand: 'npm run make', startCommand: 'node made.js', healthPath: '/up' },
  },
  {
    name: 'vercel.json of a folder that is only built',
    files: {
      'package.json': { scripts: { build: 'node build.js' } },
      'vercel.json': { buildCommand: 'npm run build', outputDirectory: 'public' },
    },
    is: { type: 'static', buildCommand: 'npm run build', outputDirectory: 'public', startCommand: null, warnings: [] },
  },
  {
    name: 'vercel.json with an output folder of a program',
    files: { ...app, 'vercel.json': { outputDirectory: 'public' } },
    is: { type: 'app', startCommand: 'node a.js' },
  },
  {
    name: 'app.json with a health check and the variables that the app needs',
    files: {
      ...app,
      'app.json': {
        healthchecks: {
          web: [
            { type: 'liveness', path: '/live' },
            { type: 'startup', path: '/ready' },
          ],
        },
        env: { SECRET: { generator: 'secret' }, REGION: 'eu', LATER: { required: false }, PORT: '1', BUILDPACK_URL: 'x' },
      },
    },
    is: {
      healthPath: '/ready',
      exampleVariables: {
        file: 'app.json',
        variables: [
          { key: 'SECRET', value: '' },
          { key: 'REGION', value: 'eu' },
        ],
      },
    },
  },
  {
    name: 'a template of a .env file',
    files: {
      ...app,
      '.env.example': '# the database\nDATABASE_URL="file:./data.db"\nexport TOKEN=\nPORT=1\n# OPTIONAL=1\nbad name=2\n',
    },
    is: {
      exampleVariables: {
        file: '.env.example',
        variables: [
          { key: 'DATABASE_URL', value: 'file:./data.db' },
          { key: 'TOKEN', value: '' },
        ],
      },
    },
  },
  {
    name: 'railway.toml',
    files: { ...app, 'railway.toml': '[deploy]\nstartCommand = "node t.js"\n' },
    is: { startCommand: 'node t.js' },
  },
  {
    name: 'fly.toml',
    files: {
      ...app,
      'fly.toml': 'app = "x"\n[http_service]\n  internal_port = 8085\n  [[http_service.checks]]\n    path = "/ok"\n',
    },
    is: { startCommand: 'node a.js', port: 8085, healthPath: '/ok' },
  },
  {
    name: 'fly.toml with processes',
    files: { ...app, 'fly.toml': '[processes]\napp = "node web.js"\nworker = "node w.js"\n' },
    is: { startCommand: 'node web.js' },
  },
  {
    name: 'nixpacks.toml',
    files: { ...app, 'nixpacks.toml': '[phases.build]\ncmds = ["npm run a", "npm run b"]\n[start]\ncmd = "node n.js"\n' },
    is: { buildCommand: 'npm run a && npm run b', startCommand: 'node n.js' },
  },
  {
    name: 'vercel.json',
    files: { ...vite, 'vercel.json': { buildCommand: 'npm run pages', outputDirectory: 'out' } },
    is: { type: 'static', buildCommand: 'npm run pages', outputDirectory: 'out' },
  },
  {
    name: 'vercel.json that says nothing of building',
    files: { ...vite, 'vercel.json': { version: 2 } },
    is: { type: 'static', buildCommand: 'npm run build', outputDirectory: 'dist' },
  },
  {
    name: 'netlify.toml',
    files: { ...vite, 'netlify.toml': '[build]\ncommand = "npm run site"\npublish = "public_html"\n' },
    is: { type: 'static', buildCommand: 'npm run site', outputDirectory: 'public_html' },
  },
  {
    name: 'netlify.toml beside a package without a start',
    files: {
      ...npm(['express'], { site: 'node make.js' }),
      'netlify.toml': '[build]\ncommand = "npm run site"\npublish = "out"\n',
    },
    is: { type: 'static', outputDirectory: 'out', warnings: [] },
  },
  {
    name: 'netlify.toml of pages alone',
    files: { 'site/index.html': page, 'netlify.toml': '[build]\npublish = "site"\n' },
    is: { type: 'static', outputDirectory: 'site' },
  },
  {
    name: 'netlify.toml beside next, which publishes what it builds',
    files: {
      ...npm(['next'], { build: 'next build', start: 'next start' }),
      'netlify.toml': '[build]\ncommand = "npm run build"\npublish = ".next"\n',
    },
    is: { type: 'app', framework: 'nextjs', startCommand: 'next start', outputDirectory: null, port: 3000 },
  },
  {
    name: 'netlify.toml beside remix',
    files: {
      ...npm(['@remix-run/dev', '@remix-run/serve'], { build: 'remix vite:build', start: 'remix-serve ./build/server/index.js' }),
      'vite.config.ts': '',
      'netlify.toml': '[build]\ncommand = "npm run build"\npublish = "build/client"\n',
    },
    is: { type: 'app', startCommand: 'remix-serve ./build/server/index.js', outputDirectory: null },
  },
  {
    name: 'netlify.toml with a function for every address',
    files: {
      ...npm(['express'], { build: 'tsc', 'build:nf': 'tsc -p nf', start: 'node dist/a.js' }),
      'netlify.toml':
        '[build]\ncommand = "npm run build:nf"\npublish = "public"\n[[redirects]]\nfrom = "/*"\nto = "/.netlify/functions/server"\nstatus = 200\n',
    },
    is: { type: 'app', buildCommand: 'npm run build', startCommand: 'node dist/a.js', outputDirectory: null },
  },
  {
    name: 'netlify.toml beside nuxt that makes files',
    files: {
      ...npm(['nuxt'], { build: 'nuxt build', generate: 'nuxt generate' }),
      'netlify.toml': '[build]\ncommand = "npm run generate"\npublish = "dist"\n',
    },
    is: { type: 'static', buildCommand: 'npm run generate', outputDirectory: 'dist', startCommand: null },
  },
  {
    name: 'netlify.toml with a build of several lines',
    files: { ...vite, 'netlify.toml': '[build]\ncommand = """\nset -e\nnpm ci\nnpm run site\n"""\npublish = "dist"\n' },
    is: {
      installCommand: 'npm ci',
      buildCommand: 'npm run build',
      warnings: ['netlify.toml: the build command is longer than 500 characters or contains control characters; it is ignored'],
    },
  },
  {
    name: 'app.json of Heroku',
    files: { ...app, 'app.json': { name: 'x', buildpacks: [], addons: ['heroku-postgresql'] }, Procfile: 'web: node web.js\n' },
    is: { startCommand: 'node web.js', warnings: [expect.stringMatching(/^app\.json: add-ons are ignored/)] },
  },
  {
    name: 'railway.json with a schedule',
    files: { ...app, 'railway.json': { deploy: { cronSchedule: '0 1 * * *' } } },
    is: { warnings: [expect.stringMatching(/^railway\.json: the cron schedule is ignored/)] },
  },
  {
    name: 'nixpacks.toml with an install of its own',
    files: { ...app, 'nixpacks.toml': '[phases.install]\ncmds = ["npm ci --omit=dev", "npm rebuild"]\n' },
    is: { installCommand: 'npm ci --omit=dev && npm rebuild' },
  },
  {
    name: 'vercel.json with an install of its own, redirects and headers',
    files: {
      ...vite,
      'vercel.json': {
        installCommand: 'npm install --legacy-peer-deps',
        redirects: [{ source: '/old', destination: '/new', permanent: true }],
        headers: [{ source: '/(.*)', headers: [{ key: 'X-Frame-Options', value: 'DENY' }] }],
      },
    },
    is: {
      installCommand: 'npm install --legacy-peer-deps',
      siteRules: { redirects: [expect.objectContaining({ to: '/new' })], headers: [expect.anything()] },
    },
  },
  {
    name: 'netlify.toml with redirects and headers',
    files: {
      ...vite,
      'netlify.toml':
        '[build]\npublish = "dist"\n[[redirects]]\nfrom = "/old"\nto = "/new"\nstatus = 301\n[[headers]]\nfor = "/*"\n[headers.values]\nX-Frame-Options = "DENY"\n',
    },
    is: { siteRules: { redirects: [expect.objectContaining({ to: '/new' })], headers: [expect.anything()] } },
  },
  {
    name: 'berth.json with a health check',
    files: { ...app, 'berth.json': { healthCheck: { path: '/up' } } },
    is: { startCommand: 'node a.js', healthPath: '/up' },
  },
  { name: 'app.json of Expo', files: { ...app, 'app.json': { expo: { name: 'x' } } }, is: { startCommand: 'node a.js' } },
  { name: 'a broken render.yaml', files: { ...app, 'render.yaml': 'services: [\n' }, is: { startCommand: 'node a.js' } },
  {
    name: 'Procfile with release',
    files: { ...app, Procfile: 'release: node migrate.js\nweb: node web.js\n' },
    is: { startCommand: 'node web.js' },
  },
  {
    name: 'our own file before theirs',
    files: {
      ...app,
      'berth.json': { startCommand: 'node own.js', port: 4321 },
      'railway.json': { deploy: { startCommand: 'node theirs.js' } },
    },
    is: { startCommand: 'node own.js', port: 4321 },
  },
  {
    name: 'railway.json before vercel.json',
    files: { ...app, 'railway.json': { build: { buildCommand: 'npm run a' } }, 'vercel.json': { buildCommand: 'npm run b' } },
    is: { buildCommand: 'npm run a' },
  },
]
