import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type NpmRegistry, startNpmRegistry } from '../../../../tests/kit/npm-registry.ts'
import { fetchPackage } from './install-version.ts'
import { newerVersions } from './newer-versions.ts'
import { runNpm } from './npm.ts'

const name = '@berthhost/berth'
let folder: string
let registry: NpmRegistry
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-npm-'))
  registry = await startNpmRegistry()
  vi.stubEnv('npm_config_registry', registry.url)
  vi.stubEnv('npm_config_cache', join(folder, 'cache'))
  vi.stubEnv('npm_config_fetch_retries', '0')
  vi.stubEnv('BERTH_SECRET_KEY', 'not for npm')
})
afterEach(async () => {
  vi.unstubAllEnvs()
  await registry[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

test('newer versions come from the configured npm registry, newest first, without prereleases', async () => {
  for (const version of ['0.9.0', '1.0.0', '1.10.0', '1.9.0', '2.0.0-rc.1']) await registry.publish(name, version, { files: {} })
  expect(await newerVersions('1.0.0')).toEqual(['1.10.0', '1.9.0'])
  expect(await newerVersions('1.10.0')).toEqual([])
})

test('a package that the registry does not have is an error with a remedy and the reason of npm', async () => {
  await expect(newerVersions('1.0.0')).rejects.toThrow(/no package .*--to <file> \(npm view failed: .*404/)
})

test('a registry that does not answer times out', async () => {
  registry.hang()
  await expect(runNpm(['view', name, 'versions'], { cwd: folder, maxMs: 2_000 })).rejects.toThrow('did not end within 2 s')
})

test('a package whose hash differs from that of the registry is refused', async () => {
  await registry.publish(name, '1.1.0', { files: { 'README.md': 'text' } })
  expect(await fetchPackage(folder, { version: '1.1.0' })).toMatchObject({ version: '1.1.0', nodeMajor: null })
  await registry.publish(name, '1.2.0', { files: {}, integrity: `sha512-${'A'.repeat(86)}==` })
  await expect(fetchPackage(folder, { version: '1.2.0' })).rejects.toThrow('EINTEGRITY')
  expect(readdirSync(join(folder, 'versions'))).toHaveLength(1)
})
