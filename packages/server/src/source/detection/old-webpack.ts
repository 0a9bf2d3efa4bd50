import type { RuntimeVersions } from './runtime-versions.ts'
import { has } from './signs.ts'
import type { App } from './stack.ts'

/** Tools that bring their own webpack. */
const builders = [
  'webpack',
  'react-scripts',
  '@vue/cli-service',
  '@angular-devkit/build-angular',
  'nuxt',
  'next',
  'gatsby',
  'gridsome',
  'laravel-mix',
  'preact-cli',
  'umi',
]

const lockfiles = [
  { name: 'package-lock.json', entry: /"(?:node_modules\/)?webpack": ?\{\s{0,20}"version": ?"(\d{1,4}\.\d{1,4})\.\d/ },
  { name: 'yarn.lock', entry: /^"?webpack@[^\n]{1,300}:\n {2}version:? "?(\d{1,4}\.\d{1,4})\.\d/m },
  { name: 'pnpm-lock.yaml', entry: /^ {2}'?\/?webpack[@/](\d{1,4}\.\d{1,4})\.\d/m },
]

/**
 * Selects Node 16 if the lockfile has a webpack that hashes with MD4, which OpenSSL 3 of Node 17 and later refuses: webpack before
 * 4.47, and 5 before 5.61. A version that the project names, other than a lower bound, is kept.
 */
export async function withNodeForOldWebpack(app: App, named: RuntimeVersions): Promise<RuntimeVersions> {
  const old = acceptsNode16(named.versions.node) ? await oldWebpack(app) : null
  if (!old) return named
  const says = `webpack ${old.version} needs Node 16`
  return {
    versions: { ...named.versions, node: '16' },
    evidence: [...named.evidence, { file: old.file, says }],
    warnings: [
      ...named.warnings,
      `${says}: it fails with newer versions. Update webpack, or set the version of Node in engines or .nvmrc`,
    ],
  }
}

/** Whether the project accepts Node 16: it names no version (`undefined`), or a lower bound up to 16 (`>=10`). */
const acceptsNode16 = (range: string | undefined): boolean =>
  range === undefined || Number(/^>=? ?(\d{1,3})[\d.x]*$/.exec(range)?.[1]) <= 16

async function oldWebpack(app: App): Promise<{ version: string; file: string } | null> {
  if (!app.manifests.npm || !has(app, 'npm', ...builders)) return null
  for (const folder of app.folder.upwards)
    for (const { name, entry } of lockfiles) {
      const [, version] = entry.exec((await folder.lockfile(name)) ?? '') ?? []
      if (version) return usesMd4(version) ? { version, file: folder.full(name) } : null
    }
  return null
}

function usesMd4(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return major < 4 || (major === 4 && minor < 47) || (major === 5 && minor < 61)
}
