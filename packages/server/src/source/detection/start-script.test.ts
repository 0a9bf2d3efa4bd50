import { describe, expect, test } from 'vitest'
import { detectFolder } from './detect-folder.ts'
import { temporaryFolder } from './temporary-folder.ts'

type Files = Record<string, string | object>

const app = (start: string, scripts: Record<string, string> = {}) => ({ name: 'a', scripts: { start, ...scripts } })
async function startOf(manifest: object, files: Files = {}, rootDirectory = '') {
  const prefix = rootDirectory && `${rootDirectory}/`
  const folder = await temporaryFolder({ [`${prefix}package.json`]: manifest, [`${prefix}server.js`]: '', ...files })
  return (await detectFolder(folder, { rootDirectory })).startCommand
}

describe('a start script with one plain command is the start command', () => {
  test.each([
    'node server.js',
    '  node server.js ',
    'node --enable-source-maps "my server.js"',
    'tsx src/main.ts',
    'cross-env A=1 node .',
  ])('%s', async (start) => expect(await startOf(app(start))).toBe(start.trim()))
  test.each<[string, Files]>([
    ['pnpm', { 'pnpm-lock.yaml': '' }],
    ['yarn', { 'yarn.lock': '# yarn lockfile v1\n' }],
    ['bun', { 'bun.lock': '{}' }],
    ['yarn 4 that links modules', { 'yarn.lock': '__metadata:\n', '.yarnrc.yml': 'nodeLinker: node-modules\n' }],
  ])('also with %s', async (_, files) => {
    expect(await startOf(app('next start'), files)).toBe('next start')
  })
})

test.each(['npm run serve', 'yarn serve', 'pnpm run serve', 'bun serve'])(
  'a start script that only calls another one, %s, is replaced by it',
  async (start) => expect(await startOf(app(start, { serve: 'node server.js' }))).toBe('node server.js'),
)

describe('the package manager runs a start script', () => {
  test.each([
    'node migrate.js && node server.js',
    'NODE_ENV=production node server.js',
    'node server.js --port $PORT',
    'node server.js > log',
    'cd dist',
    './start.sh',
    '../bin/server',
    `node ${'a'.repeat(500)}`,
  ])('with more than one program: %s', async (start) => {
    expect(await startOf(app(start))).toBe('npm run start')
  })
  test.each(['run-s serve', 'concurrently npm:serve', 'npm run serve -- --quiet', 'npx serve', 'dotenv -- pnpm serve'])(
    'that runs other scripts: %s',
    async (start) => expect(await startOf(app(start, { serve: 'node server.js' }))).toBe('npm run start'),
  )
  test('that calls one with a hook, or itself', async () => {
    expect(await startOf(app('npm run serve', { preserve: 'node a.js', serve: 'node server.js' }))).toBe('npm run start')
    expect(await startOf(app('npm run serve', { serve: 'npm start' }))).toBe('npm run start')
  })
  test.each(['prestart', 'poststart'])('that has %s', async (hook) => {
    expect(await startOf(app('node server.js', { [hook]: 'node migrate.js' }))).toBe('npm run start')
  })
  test('of Bun that passes arguments to another script', async () => {
    const scripts = { serve: 'bun server.js' }
    expect(await startOf(app('bun run serve --quiet', scripts), { 'bun.lock': '{}' })).toBe('bun run start')
    expect(await startOf(app('bun serve --quiet', scripts), { 'bun.lock': '{}' })).toBe('bun run start')
    expect(await startOf(app('bun run server.js', scripts), { 'bun.lock': '{}' })).toBe('bun run server.js')
  })
  test('if dependencies are resolved by the Yarn loader only', async () => {
    expect(await startOf(app('node server.js'), { 'yarn.lock': '__metadata:\n' })).toBe('yarn run start')
  })
  test('if the tool is in the folder of the workspace; a program of the runtime needs no such folder', async () => {
    const workspace = { 'package.json': { workspaces: ['api'] }, 'package-lock.json': '{}' }
    expect(await startOf(app('next start'), workspace, 'api')).toBe('npm run start')
    expect(await startOf(app('node server.js'), workspace, 'api')).toBe('node server.js')
  })
  test('if the program reads variables that only a package manager sets', async () => {
    const files = { 'server.js': 'console.log(process.env.npm_package_version)' }
    expect(await startOf(app('node server.js'), files)).toBe('npm run start')
    expect(await startOf(app('node ./server'), files)).toBe('npm run start')
  })
  test.each(['node-options=--max-old-space-size=200', 'script-shell = bash'])('with the setting %s', async (line) => {
    expect(await startOf(app('node server.js'), { '.npmrc': `a=b\n${line}\n` })).toBe('npm run start')
    expect(await startOf(app('node server.js'), { '.npmrc': 'registry=https://a.test\n' })).toBe('node server.js')
  })
})
