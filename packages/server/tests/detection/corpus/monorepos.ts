import { type CorpusCase, npm, page } from './corpus.ts'

const root = (workspaces: string[], more: object = {}) => ({
  'package.json': { name: 'root', private: true, workspaces, ...more },
  'package-lock.json': { lockfileVersion: 3 },
})
const web = {
  'apps/web/package.json': {
    name: 'web',
    scripts: { build: 'next build', start: 'next start' },
    dependencies: { next: '15', '@repo/ui': '*' },
  },
}
const ui = { 'packages/ui/package.json': { name: '@repo/ui', scripts: { build: 'tsc' }, dependencies: { '@repo/tokens': '*' } } }
const tokens = { 'packages/tokens/package.json': { name: '@repo/tokens', scripts: { build: 'tsc' } } }

/** Projects whose app is in a subfolder. */
export const monorepos: readonly CorpusCase[] = [
  {
    name: 'a workspace with one app',
    files: { ...root(['apps/*', 'packages/*']), ...web, ...ui, ...tokens },
    is: {
      rootDirectory: 'apps/web',
      framework: 'nextjs',
      buildCommand: 'npm run build --workspace @repo/tokens && npm run build --workspace @repo/ui && npm run build',
    },
  },
  {
    name: 'nx with one app that has no package of its own',
    files: {
      ...npm(['nx', 'express'], { build: 'nx build', start: 'nx serve' }),
      'nx.json': {},
      'apps/api/project.json': {
        name: 'api',
        projectType: 'application',
        targets: { build: { executor: '@nx/webpack:webpack', options: { outputPath: 'dist/apps/api' } } },
      },
      'apps/api/src/main.ts': '',
    },
    is: {
      framework: 'nx',
      buildCommand: 'npx --no-install nx build api',
      startCommand: 'node dist/apps/api/main.js',
      apps: [],
      warnings: [],
    },
  },
  {
    name: 'nx with one app whose build is inferred from the config of Vite',
    files: {
      ...npm(['nx', 'vite']),
      'nx.json': {},
      'apps/shop/project.json': { name: 'shop', projectType: 'application' },
      'apps/shop/vite.config.mts': "export default { build: { outDir: '../../dist/out/shop' } }\n",
    },
    is: { framework: 'nx', type: 'static', outputDirectory: 'dist/out/shop', apps: [] },
  },
  {
    name: 'nx with one app whose build is inferred from the config of webpack',
    files: {
      ...npm(['nx', 'webpack']),
      'nx.json': {},
      'apps/api/project.json': { name: 'api', projectType: 'application' },
      'apps/api/webpack.config.js': "module.exports = { output: { path: join(__dirname, 'dist') } }\n",
    },
    is: { framework: 'nx', startCommand: 'node apps/api/dist/main.js' },
  },
  {
    name: 'nx with several apps whose start script is a development server',
    files: {
      ...npm(['nx', 'vite'], { build: 'nx build', start: 'nx serve' }),
      'nx.json': {},
      'apps/cart/project.json': { name: 'cart', projectType: 'application' },
      'apps/cart/vite.config.ts': '',
      'apps/products/project.json': { name: 'products', projectType: 'application' },
    },
    is: {
      startCommand: null,
      apps: [
        { name: 'cart', path: 'apps/cart', framework: 'vite' },
        { name: 'products', path: 'apps/products', framework: null },
      ],
    },
  },
  {
    name: 'nx with one app whose target names its output',
    files: {
      ...npm(['nx', 'vite']),
      'nx.json': {},
      'apps/cart/project.json': {
        projectType: 'application',
        targets: { build: { outputs: ['{workspaceRoot}/dist/elsewhere/cart'] } },
      },
      'apps/cart/vite.config.ts': '',
    },
    is: { type: 'static', outputDirectory: 'dist/elsewhere/cart' },
  },
  {
    name: 'nx with one app at its root',
    files: {
      ...npm(['nx', 'express'], { build: 'nx build', start: 'nx serve' }),
      'nx.json': {},
      'project.json': {
        name: 'api',
        projectType: 'application',
        targets: { build: { executor: '@nx/esbuild:esbuild', options: { outputPath: 'dist/api', main: 'src/main.ts' } } },
      },
      'src/main.ts': 'app.listen(process.env.PORT || 3000)\n',
    },
    is: { framework: 'express', buildCommand: 'npm run build', startCommand: 'node dist/api/main.js' },
  },
  {
    name: 'nx with one app of pages',
    files: {
      ...npm(['nx', '@angular/core'], { start: 'nx serve' }),
      'nx.json': {},
      'apps/shop/project.json': {
        name: 'shop',
        projectType: 'application',
        targets: { build: { executor: '@angular/build:application', options: { outputPath: 'dist/apps/shop' } } },
      },
    },
    is: { type: 'static', buildCommand: 'npx --no-install nx build shop', outputDirectory: 'dist/apps/shop/browser' },
  },
  {
    name: 'modules of Go, one of them a program',
    files: {
      'go.work': 'go 1.24\n\nuse (\n\t./api\n\t./shared\n)\n',
      'api/go.mod': 'module example.test/api\n',
      'api/main.go': 'package main\n\nfunc main() {}\n',
      'shared/go.mod': 'module example.test/shared\n',
      'shared/shared.go': 'package shared\n',
    },
    is: { rootDirectory: 'api', framework: 'go', startCommand: './bin/app' },
  },
  {
    name: 'a workspace of yarn with one app',
    files: {
      'package.json': { name: 'root', workspaces: ['apps/*', 'packages/*'] },
      'yarn.lock': '# yarn lockfile v1\n',
      ...web,
      ...ui,
    },
    is: {
      rootDirectory: 'apps/web',
      packageManager: 'yarn',
      buildCommand: 'yarn workspace @repo/ui run build && yarn run build',
    },
  },
  {
    name: 'a workspace of bun with one app',
    files: { 'package.json': { name: 'root', workspaces: ['apps/*', 'packages/*'] }, 'bun.lock': '{}', ...web, ...ui },
    is: { rootDirectory: 'apps/web', packageManager: 'bun', buildCommand: 'bun run --filter @repo/ui build && bun run build' },
  },
  {
    name: 'a workspace of pnpm with one app',
    files: {
      'package.json': { name: 'root' },
      'pnpm-workspace.yaml': 'packages:\n  - apps/*\n  - packages/*\n',
      'pnpm-lock.yaml': '',
      ...web,
      ...ui,
    },
    is: { rootDirectory: 'apps/web', packageManager: 'pnpm', buildCommand: 'pnpm --filter @repo/ui run build && pnpm run build' },
  },
  {
    name: 'a workspace with two apps',
    files: {
      ...root(['apps/*']),
      ...web,
      'apps/api/package.json': { name: 'api', scripts: { start: 'node a.js' }, dependencies: { express: '4' } },
    },
    is: {
      framework: 'workspaces',
      apps: [
        { name: 'api', path: 'apps/api', framework: 'express' },
        { name: 'web', path: 'apps/web', framework: 'nextjs' },
      ],
    },
  },
  {
    name: 'a workspace whose root starts it',
    files: { ...root(['apps/*'], { scripts: { start: 'npm start -w web' } }), ...web },
    is: { startCommand: 'npm run start' },
  },
  {
    name: 'one folder with an app',
    files: {
      'README.md': 'x',
      ...Object.fromEntries(
        Object.entries({ ...npm(['express'], { start: 'node a.js' }), 'a.js': '' }).map(([path, text]) => [
          `server/${path}`,
          text,
        ]),
      ),
    },
    is: { rootDirectory: 'server', framework: 'express', startCommand: 'node a.js' },
  },
  {
    name: 'one folder with pages of Vite',
    files: {
      'README.md': 'x',
      'client/package.json': { name: 'c', scripts: { build: 'vite build' }, dependencies: { vite: '7' } },
      'client/index.html': page,
    },
    is: { rootDirectory: 'client', framework: 'vite', outputDirectory: 'dist' },
  },
  {
    name: 'a back end and a front end',
    files: {
      'backend/requirements.txt': 'flask',
      'backend/app.py': 'app = Flask(__name__)',
      'frontend/package.json': { scripts: { build: 'vite build' }, dependencies: { vite: '7' } },
      'frontend/index.html': page,
    },
    is: {
      framework: null,
      apps: [
        { name: 'backend', path: 'backend', framework: 'flask' },
        { name: 'frontend', path: 'frontend', framework: 'vite' },
      ],
    },
  },
]
