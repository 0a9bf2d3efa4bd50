import { describe, expect, test } from 'vitest'
import { detectFolder } from './detect-folder.ts'
import { temporaryFolder } from './temporary-folder.ts'

const express = { name: 'api', scripts: { build: 'tsc', start: 'node index.js' }, dependencies: { express: '4' } }
const berry = '__metadata:\n  version: 8\n'
const classic = '# yarn lockfile v1\n'

const detect = async (files: Record<string, string | object>) => {
  const { packageManager, installCommand, buildCommand, startCommand, warnings } = await detectFolder(
    await temporaryFolder({ 'package.json': express, 'index.js': '', ...files }),
  )
  return { packageManager, installCommand, buildCommand, startCommand, warnings }
}

describe('the lockfile determines the package manager, and the install is frozen', () => {
  test.each([
    ['npm', 'npm ci', { 'package-lock.json': '{}' }],
    ['npm', 'npm ci', { 'npm-shrinkwrap.json': '{}' }],
    ['pnpm', 'pnpm install --frozen-lockfile', { 'pnpm-lock.yaml': '' }],
    ['yarn', 'yarn install --frozen-lockfile', { 'yarn.lock': classic }],
    ['yarn', 'yarn install --immutable', { 'yarn.lock': berry }],
    ['yarn', 'yarn install --immutable', { 'yarn.lock': '', '.yarnrc.yml': 'nodeLinker: pnp\n' }],
    ['bun', 'bun install --frozen-lockfile', { 'bun.lock': '{}' }],
    ['bun', 'bun install --frozen-lockfile', { 'bun.lockb': 'x' }],
    ['bun', 'bun install --frozen-lockfile', { 'bun.lock': '{}', 'bun.lockb': 'x' }],
  ])('%s: %s by %o', async (manager, install, files) => {
    const usesLoader = install.endsWith('--immutable')
    expect(await detect(files as Record<string, string>)).toEqual({
      packageManager: manager,
      installCommand: install,
      buildCommand: `${manager} run build`,
      startCommand: usesLoader ? 'yarn run start' : 'node index.js',
      warnings: [],
    })
  })

  test('a lockfile over the read limit is recognised by its first lines', async () => {
    expect(await detect({ 'yarn.lock': `${berry}${'# x\n'.repeat(400_000)}` })).toMatchObject({
      installCommand: 'yarn install --immutable',
      warnings: [],
    })
  })
})

test('without a lockfile the install is not frozen, with a warning', async () => {
  expect(await detect({})).toMatchObject({
    packageManager: 'npm',
    installCommand: 'npm install',
    warnings: ['there is no lockfile of npm; two installs may differ'],
  })
})

test('without dependencies there is no install command', async () => {
  const files = { 'package.json': { name: 'api', scripts: { start: 'node index.js' } } }
  expect(await detect(files)).toMatchObject({ installCommand: null, warnings: [] })
})

describe('the packageManager field has precedence', () => {
  const field = (packageManager: unknown) => ({ 'package.json': { ...express, packageManager } })
  test('over the lockfile of another one, with a warning', async () => {
    expect(await detect({ ...field('pnpm@9.1.0'), 'package-lock.json': '{}' })).toMatchObject({
      packageManager: 'pnpm',
      installCommand: 'pnpm install',
      warnings: ['pnpm is used, but package-lock.json is there too', 'there is no lockfile of pnpm; two installs may differ'],
    })
  })
  test('with two lockfiles', async () => {
    expect(await detect({ ...field('npm@11.0.0'), 'package-lock.json': '{}', 'yarn.lock': classic })).toMatchObject({
      packageManager: 'npm',
      installCommand: 'npm ci',
      warnings: ['npm is used, but yarn.lock is there too'],
    })
  })
  test.each([
    ['yarn@1.22.22', 'yarn install --frozen-lockfile'],
    ['yarn@4.0.0', 'yarn install --immutable'],
    ['yarn@3.6.1+sha224.abc', 'yarn install --immutable'],
  ])('and determines the version of Yarn: %s', async (text, install) => {
    expect(await detect({ ...field(text), 'yarn.lock': '' })).toMatchObject({ installCommand: install })
  })
  test.each([['cnpm@1.0.0'], ['npm'], [5], ['; rm -rf /@1'], [{ a: 1 }]])('%o is ignored', async (value) => {
    expect(await detect({ ...field(value), 'yarn.lock': classic })).toMatchObject({ packageManager: 'yarn', warnings: [] })
  })
})

test('two lockfiles without the field are a warning', async () => {
  expect(await detect({ 'package-lock.json': '{}', 'yarn.lock': classic, 'pnpm-lock.yaml': '' })).toMatchObject({
    packageManager: 'pnpm',
    warnings: ['pnpm is used, but yarn.lock and package-lock.json are there too'],
  })
})

test('tools run through the package manager if there is no script', async () => {
  const next = { 'package.json': { dependencies: { next: '15' } } }
  const commands = async (files: Record<string, string>) => {
    const { buildCommand, startCommand } = await detect({ ...next, ...files })
    return [buildCommand, startCommand]
  }
  expect(await commands({ 'package-lock.json': '{}' })).toEqual(['npx --no-install next build', 'npx --no-install next start'])
  expect(await commands({ 'pnpm-lock.yaml': '' })).toEqual(['pnpm exec next build', 'pnpm exec next start'])
  expect(await commands({ 'yarn.lock': classic })).toEqual(['yarn run next build', 'yarn run next start'])
  expect(await commands({ 'bun.lock': '{}' })).toEqual(['bunx --no-install next build', 'bunx --no-install next start'])
})
