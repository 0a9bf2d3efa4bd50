import { expect, test } from 'vitest'
import { detectFolder } from './detect-folder.ts'
import { temporaryFolder } from './temporary-folder.ts'

const detected = async (files: Record<string, string | object>, engines?: object) =>
  detectFolder(await temporaryFolder({ 'package.json': { dependencies: { '@vue/cli-service': '3' }, engines }, ...files }))

const npmLock = (version: string) => ({ 'package-lock.json': { packages: { 'node_modules/webpack': { version } } } })

test.each([
  [npmLock('4.28.4'), '16'],
  [{ 'package-lock.json': { dependencies: { webpack: { version: '4.46.0' } } } }, '16'],
  [{ 'yarn.lock': '# yarn lockfile v1\n\nwebpack@^4.0.0, webpack@^4.4.1:\n  version "4.44.2"\n' }, '16'],
  [{ 'yarn.lock': '__metadata:\n  version: 8\n\n"webpack@npm:^4.0.0":\n  version: 4.44.2\n' }, '16'],
  [{ 'pnpm-lock.yaml': "lockfileVersion: '6.0'\n\npackages:\n\n  /webpack@4.44.2(webpack-cli@3.3.12):\n" }, '16'],
  [{ 'pnpm-lock.yaml': "lockfileVersion: '9.0'\n\npackages:\n\n  webpack@5.60.0:\n" }, '16'],
  [npmLock('4.47.0'), undefined],
  [npmLock('5.61.0'), undefined],
  [{ 'yarn.lock': '# yarn lockfile v1\n\nwebpack-cli@^4.0.0:\n  version "4.0.0"\n' }, undefined],
  [{}, undefined],
])('the lockfile %j needs Node %s', async (files, node) => expect((await detected(files)).runtimeVersion.node).toBe(node))

test('a lower bound is open; any other version of the project is kept', async () => {
  expect((await detected(npmLock('4.28.4'), { node: '>=10' })).runtimeVersion.node).toBe('16')
  expect((await detected(npmLock('4.28.4'), { node: '>=18' })).runtimeVersion.node).toBe('>=18')
  expect((await detected(npmLock('4.28.4'), { node: '14.x' })).runtimeVersion.node).toBe('14.x')
})

test('the reason is given, and a Dockerfile decides by itself', async () => {
  const { evidence, warnings } = await detected(npmLock('4.28.4'))
  expect(evidence).toContainEqual({ file: 'package-lock.json', says: 'webpack 4.28 needs Node 16' })
  expect(warnings.join()).toContain('set the version of Node in engines or .nvmrc')
  expect((await detected({ ...npmLock('4.28.4'), Dockerfile: 'FROM node:14\nEXPOSE 80\n' })).runtimeVersion.node).toBeUndefined()
})

test('a lockfile of more than a megabyte is read, without a warning about its size', async () => {
  const packages = { 'node_modules/a': { integrity: 'x'.repeat(2 * 1024 ** 2) }, 'node_modules/webpack': { version: '4.28.4' } }
  const { runtimeVersion, warnings } = await detected({ 'package-lock.json': { packages } })
  expect(runtimeVersion.node).toBe('16')
  expect(warnings.join()).not.toContain('larger than')
})
