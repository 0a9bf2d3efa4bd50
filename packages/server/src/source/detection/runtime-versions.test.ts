import { describe, expect, test } from 'vitest'
import { detectFolder } from './detect-folder.ts'
import { temporaryFolder } from './temporary-folder.ts'

const versions = async (files: Record<string, string | object>) =>
  (await detectFolder(await temporaryFolder(files))).runtimeVersion

describe('versions in version files', () => {
  test.each([
    [{ '.nvmrc': 'v22.1.0\n' }, { node: '22.1.0' }],
    [{ '.nvmrc': '# use\n\nlts/iron\n' }, { node: 'lts/iron' }],
    [{ '.node-version': '20' }, { node: '20' }],
    [{ 'package.json': { engines: { node: '^20 || >=22', bun: '1' } } }, { node: '^20 || >=22', bun: '1' }],
    [{ 'package.json': { volta: { node: '22.4.0' }, engines: { node: '>=18' } } }, { node: '22.4.0' }],
    [{ '.nvmrc': '22', 'package.json': { engines: { node: '>=18' } } }, { node: '22' }],
    [{ '.python-version': '3.12.1\n3.11\n' }, { python: '3.12.1' }],
    [{ 'runtime.txt': 'python-3.11.4\n' }, { python: '3.11.4' }],
    [{ 'pyproject.toml': '[project]\nrequires-python = ">=3.10"\n' }, { python: '>=3.10' }],
    [{ Pipfile: '[requires]\npython_full_version = "3.9.1"\n' }, { python: '3.9.1' }],
    [{ 'go.mod': 'module x\n\ngo 1.22\n' }, { go: '1.22' }],
    [{ 'rust-toolchain': '1.75.0\n' }, { rust: '1.75.0' }],
    [{ 'rust-toolchain': '[toolchain]\nchannel = "nightly-2024-12-01"\n' }, { rust: 'nightly-2024-12-01' }],
    [
      {
        'rust-toolchain.toml': '[toolchain]\nchannel = "stable"\n',
        'Cargo.toml': '[package]\nname = "x"\nrust-version = "1.70"\n',
      },
      { rust: 'stable' },
    ],
    [{ '.ruby-version': '3.3.0\n' }, { ruby: '3.3.0' }],
    [{ Gemfile: "ruby '~> 3.2'\n" }, { ruby: '~> 3.2' }],
    [
      { '.tool-versions': 'nodejs 22.1.0\npython 3.12.0 3.11.0\ngolang 1.22\nother 1\nelixir 1.17.0-otp-27\n' },
      { node: '22.1.0', python: '3.12.0', go: '1.22', elixir: '1.17.0-otp-27' },
    ],
    [{ 'global.json': '{ "sdk": { "version": "8.0.100" } }' }, { dotnet: '8.0.100' }],
    [
      {
        'a.csproj':
          '<Project Sdk="Microsoft.NET.Sdk.Web"><PropertyGroup><TargetFrameworks>net8.0;net9.0</TargetFrameworks></PropertyGroup></Project>',
      },
      { dotnet: '8.0' },
    ],
    [{ 'composer.json': { require: { php: '^8.2' } } }, { php: '^8.2' }],
    [{ 'system.properties': 'java.runtime.version=21\n' }, { java: '21' }],
    [{ 'build.gradle': "sourceCompatibility = '17'\n" }, { java: '17' }],
    [{ 'mix.exs': 'def project, do: [app: :a, elixir: "~> 1.15"]' }, { elixir: '~> 1.15' }],
    [{}, {}],
  ])('%o', async (files, expected) => expect(await versions(files as Record<string, string | object>)).toEqual(expected))
})

describe('versions of package managers', () => {
  const yarnLock = (version: number) => `__metadata:\n  version: ${version}\n`
  test.each([
    [{ 'package.json': { packageManager: 'npm@10.9.0' } }, { npm: '10.9.0' }],
    [{ 'package.json': { packageManager: 'pnpm@9.15.4+sha512.abc' } }, { pnpm: '9.15.4' }],
    [{ 'package.json': { packageManager: 'yarn@4.5.0' } }, { yarn: '4.5.0' }],
    [{ 'package.json': { packageManager: 'bun@1.2.2' } }, { bun: '1.2.2' }],
    [{ 'package.json': { engines: { pnpm: '>=8' } } }, { pnpm: '>=8' }],
    [{ 'package.json': { engines: { yarn: '^1.22' } } }, { yarn: '^1.22' }],
    [{ 'package.json': { packageManager: 'pnpm@9.1.0', engines: { pnpm: '>=8' } } }, { pnpm: '9.1.0' }],
    [{ 'package.json': {}, 'pnpm-lock.yaml': "lockfileVersion: '9.0'\n" }, { pnpm: '>=9 <11' }],
    [{ 'package.json': {}, 'pnpm-lock.yaml': "lockfileVersion: '6.0'\n" }, { pnpm: '8' }],
    [{ 'package.json': {}, 'pnpm-lock.yaml': 'lockfileVersion: 5.4\n' }, { pnpm: '7' }],
    [{ 'package.json': {}, 'pnpm-lock.yaml': 'lockfileVersion: 5.3\n' }, { pnpm: '6' }],
    [{ 'package.json': {}, 'pnpm-lock.yaml': 'lockfileVersion: 5.2\n' }, {}],
    [{ 'package.json': {}, 'yarn.lock': '# yarn lockfile v1\n' }, { yarn: '1' }],
    [{ 'package.json': {}, 'yarn.lock': yarnLock(8) }, { yarn: '4' }],
    [{ 'package.json': {}, 'yarn.lock': yarnLock(6) }, { yarn: '3' }],
    [{ 'package.json': {}, 'yarn.lock': yarnLock(5) }, { yarn: '2' }],
    [{ 'package.json': {}, 'bun.lock': '{}' }, { bun: '>=1.2 <2' }],
    [{ 'package.json': { engines: { pnpm: '8' } }, 'pnpm-lock.yaml': "lockfileVersion: '9.0'\n" }, { pnpm: '8' }],
  ])('%o', async (files, expected) => expect(await versions(files as Record<string, string | object>)).toEqual(expected))
})

test('an invalid version is reported and ignored', async () => {
  const { runtimeVersion, warnings } = await detectFolder(await temporaryFolder({ '.nvmrc': '$(curl evil)\n', 'index.html': '' }))
  expect([runtimeVersion, warnings]).toEqual([{}, ['.nvmrc contains no valid version of node']])
})
