import { symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { detectFolder } from './detect-folder.ts'
import { RootDirectoryError } from './root-directory-error.ts'
import { temporaryFolder } from './temporary-folder.ts'

const workspace = {
  'package.json': { private: true, workspaces: ['apps/*'], packageManager: 'pnpm@9.0.0', engines: { node: '>=22' } },
  'pnpm-lock.yaml': '',
  '.tool-versions': 'nodejs 24.1.0\n',
  'apps/web/package.json': { name: '@acme/web', scripts: { build: 'vite build' }, devDependencies: { vite: '6' } },
  'apps/web/index.html': '',
  'apps/api/package.json': {
    name: '@acme/api',
    engines: { node: '>=20' },
    scripts: { start: 'node .' },
    dependencies: { fastify: '5' },
  },
}

test('an app of a workspace uses the package manager and versions of the workspace', async () => {
  const detection = await detectFolder(await temporaryFolder(workspace), { rootDirectory: 'apps/web' })
  expect(detection).toMatchObject({
    name: 'web',
    framework: 'vite',
    packageManager: 'pnpm',
    installCommand: 'pnpm install --frozen-lockfile',
    outputDirectory: 'dist',
    runtimeVersion: { node: '24.1.0', pnpm: '9.0.0' },
    apps: [],
    warnings: [],
  })
  expect(detection.evidence.map((one) => one.file)).toEqual([
    'apps/web/package.json',
    'apps/web/index.html',
    'package.json',
    'pnpm-lock.yaml',
    'apps/web/package.json',
    '.tool-versions',
    'package.json',
  ])
})

test('the nearest version file is used', async () => {
  const { '.tool-versions': _, ...files } = workspace
  const folder = await temporaryFolder(files)
  expect((await detectFolder(folder, { rootDirectory: './apps/api/' })).runtimeVersion).toEqual({ node: '>=20', pnpm: '9.0.0' })
  expect((await detectFolder(folder, { rootDirectory: 'apps/web' })).runtimeVersion).toEqual({ node: '>=22', pnpm: '9.0.0' })
})

test.each(['..', '../x', 'apps/../../x', '/etc', '/'])('%s is refused, since it leaves the project', async (rootDirectory) => {
  await expect(detectFolder(await temporaryFolder(workspace), { rootDirectory })).rejects.toThrow(RootDirectoryError)
})

test.each(['gone', 'package.json', 'apps/web/index.html', 'out'])(
  '%s is refused, since it is not a folder of the project',
  async (rootDirectory) => {
    const folder = await temporaryFolder(workspace)
    const other = await temporaryFolder(workspace)
    await symlink(other, join(folder, 'out'))
    await expect(detectFolder(folder, { rootDirectory })).rejects.toThrow(RootDirectoryError)
  },
)

test('a root directory may have any name and depth', async () => {
  const path = 'a/b/c/d/e/f/g/build/target'
  const folder = await temporaryFolder({ [`${path}/package.json`]: { dependencies: { next: '15' } } })
  expect(await detectFolder(folder, { rootDirectory: path })).toMatchObject({ framework: 'nextjs', name: 'target' })
})

test.each(['', '.', './'])('"%s" is the project root', async (rootDirectory) => {
  expect((await detectFolder(await temporaryFolder(workspace), { rootDirectory })).framework).toBe('workspaces')
})

test('a missing folder is an error', async () => {
  await expect(detectFolder(join(await temporaryFolder(), 'gone'))).rejects.toThrow('ENOENT')
  await expect(detectFolder(join(await temporaryFolder({ file: 'x' }), 'file'))).rejects.toThrow('ENOTDIR')
})

test('a runtime without Docker can leave out the Dockerfile', async () => {
  const folder = await temporaryFolder({ Dockerfile: 'FROM x\nEXPOSE 80\n', 'package.json': { scripts: { start: 'node a.js' } } })
  expect((await detectFolder(folder)).framework).toBe('dockerfile')
  expect(await detectFolder(folder, { without: ['dockerfile', 'compose'] })).toMatchObject({
    framework: 'node',
    startCommand: 'node a.js',
  })
})

test('an abort stops the detection', async () => {
  await expect(detectFolder(await temporaryFolder(workspace), { abort: AbortSignal.abort() })).rejects.toThrow(/abort/i)
})

test('an omitted candidate is reported if it would have been chosen', async () => {
  const only = await temporaryFolder({ Dockerfile: 'FROM x\n' })
  expect(await detectFolder(only, { without: ['dockerfile'] })).toMatchObject({
    unsupportedFramework: 'dockerfile',
    warnings: ['its Dockerfile is not used: that needs Docker'],
  })
  expect(await detectFolder(await temporaryFolder({ 'index.html': '' }), { without: ['dockerfile'] })).not.toHaveProperty(
    'unsupportedFramework',
  )
})

test('an error about a missing root directory lists similar folders', async () => {
  const folder = await temporaryFolder({ 'apps/web/a': '', 'apps/api/a': '', 'docs/a': '', '.git/a': '' })
  const reported = (rootDirectory: string) => detectFolder(folder, { rootDirectory }).catch(({ message }: Error) => message)
  expect(await reported('apps/site/x')).toMatch(/There is no folder "apps\/site\/x".*rootDirectory.*"apps\/api", "apps\/web"/)
  expect(await reported('web')).toMatch(/\("?there is "apps", "docs"\)/)
})
