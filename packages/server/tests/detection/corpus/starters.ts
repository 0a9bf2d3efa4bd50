import { type CorpusCase, npm } from './corpus.ts'

const listens = 'import Koa from "koa"\nnew Koa().listen(3000)\n'

/** Starter projects of hosts and older tools, with few or no hints about how to run them. */
export const starters: readonly CorpusCase[] = [
  {
    name: 'a server in TypeScript without scripts',
    files: { ...npm(['koa', 'typescript']), 'src/index.ts': listens },
    is: { framework: 'koa', type: 'app', startCommand: 'node src/index.ts', port: 3000 },
  },
  {
    name: 'a server in TypeScript without scripts, with tsx',
    files: { ...npm(['fastify', 'tsx']), 'server.ts': listens },
    is: { framework: 'fastify', startCommand: 'npx --no-install tsx server.ts' },
  },
  {
    name: 'an app in TypeScript that another program has to serve',
    files: { ...npm(['express', 'typescript']), 'src/index.ts': 'export default express() // .listen(3000)\n' },
    is: { framework: 'express', startCommand: null },
  },
  {
    name: 'sapper',
    files: npm(['sapper', 'svelte', 'polka'], { dev: 'sapper dev', build: 'sapper build', start: 'sapper dev' }),
    is: { framework: 'sapper', type: 'app', buildCommand: 'npm run build', startCommand: 'node __sapper__/build' },
  },
  {
    name: 'docusaurus 1',
    files: {
      ...npm(['docusaurus'], { start: 'docusaurus-start', build: 'docusaurus-build' }),
      'siteConfig.js': "module.exports = { title: 'x', projectName: 'test-site' }",
    },
    is: { framework: 'docusaurus', type: 'static', buildCommand: 'npm run build', outputDirectory: 'build/test-site' },
  },
  {
    name: 'brunch',
    files: npm(['brunch'], { start: 'brunch watch --server', build: 'brunch build --production' }),
    is: { framework: 'brunch', type: 'static', buildCommand: 'npm run build', outputDirectory: 'public' },
  },
  {
    name: 'polymer',
    files: npm(['polymer-cli'], { start: 'polymer serve', build: 'polymer build' }),
    is: { framework: 'polymer', type: 'static', outputDirectory: 'build/default' },
  },
  {
    name: 'starlette',
    files: { 'requirements.txt': 'starlette\nuvicorn\n', 'main.py': 'app = Starlette(routes=[])' },
    is: { framework: 'starlette', startCommand: 'uvicorn main:app --host 0.0.0.0 --port $PORT' },
  },
  {
    name: 'a program that has Flask among its packages and makes no app',
    files: { 'requirements.txt': 'flask\ngunicorn\n', 'main.py': 'print("hello")' },
    is: { framework: 'flask', startCommand: 'python main.py' },
  },
  {
    name: 'a program that brings its Flask app along',
    files: { 'requirements.txt': 'flask\ngunicorn\n', 'app.py': 'from elsewhere import app\n' },
    is: { framework: 'flask', startCommand: 'gunicorn app:app --bind 0.0.0.0:$PORT' },
  },
]
