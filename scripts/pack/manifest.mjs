import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { commandLineName, packageName } from '../../packages/cli/bin/versions.js'
import { root } from '../programs.mjs'

/** The published manifest: no dependency but Node 24, which is a package of its own for each platform. */
export function packageManifest() {
  const clone = readManifest('package.json')
  return {
    name: packageName,
    version: readManifest('packages/server/package.json').version,
    description: clone.description,
    license: clone.license,
    type: clone.type,
    bin: { berth: 'packages/cli/bin/berth.js' },
    engines: clone.engines,
    // A machine with Node 24 or later does without: npm install -g --omit=optional.
    optionalDependencies: clone.optionalDependencies,
  }
}

/** The command line alone: the same launcher, so the same version and the same Node. */
export const commandLineManifest = () => ({
  ...packageManifest(),
  name: commandLineName,
  description: 'The command line of Berth, without the server: deploy to an instance from a laptop or from CI',
})

const readManifest = (path) => JSON.parse(readFileSync(join(root, path), 'utf8'))
