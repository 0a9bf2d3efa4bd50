// Plain JavaScript that any Node from 18 on can read: the versions that `berth upgrade` installed below the data folder.
import { existsSync, readFileSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'

/** The name on the registry. `berth` and the scope `@berth` belong to other projects (docs/decisions/package.md). */
export const packageName = '@berthhost/berth'

/** The command line without the server, for laptops and CI. */
export const commandLineName = '@berthhost/berth-cli'

/** The data folder of these settings, as the server reads them. */
export function dataFolder(env) {
  const home = env.HOME?.trim() || homedir()
  const text = env.BERTH_DATA_DIR?.trim()
  if (!text) return join(home, '.berth')
  return resolve(/^~(\/|$)/.test(text) ? join(home, text.slice(1)) : text)
}

export const versionsFolder = (dataDir) => join(dataDir, 'versions')
export const versionFolder = (dataDir, version) => join(versionsFolder(dataDir), version)
export const pointerFile = (dataDir) => join(versionsFolder(dataDir), 'current.json')

const versionPattern = /^(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})(?:-([0-9A-Za-z.-]{1,64}))?$/

export const isVersion = (text) => typeof text === 'string' && versionPattern.test(text)
export const isPrerelease = (version) => version.includes('-')

/** Compares as semver does: a prerelease is older than its release. */
export function compareVersions(left, right) {
  const [one, other] = [left, right].map((text) => versionPattern.exec(text) ?? [])
  for (const at of [1, 2, 3]) if (one[at] !== other[at]) return Number(one[at]) - Number(other[at])
  if (one[4] === other[4]) return 0
  if (one[4] === undefined || other[4] === undefined) return one[4] === undefined ? 1 : -1
  return comparePrereleases(one[4].split('.'), other[4].split('.'))
}

function comparePrereleases(left, right) {
  for (let at = 0; at < Math.max(left.length, right.length); at++) {
    const [one, other] = [left[at], right[at]]
    if (one === other) continue
    if (one === undefined || other === undefined) return one === undefined ? -1 : 1
    const [isNumber, isOtherNumber] = [one, other].map((text) => /^\d+$/.test(text))
    if (isNumber && isOtherNumber) return Number(one) - Number(other)
    if (isNumber !== isOtherNumber) return isNumber ? -1 : 1
    return one < other ? -1 : 1
  }
  return 0
}

/** The launcher of an installed version, and the Node that was installed with it. */
export function programOf(dataDir, version) {
  const packages = join(versionFolder(dataDir, version), 'node_modules')
  const node = join(packages, `node-${process.platform}-${process.arch}`, 'bin', 'node')
  return {
    version,
    launcher: join(packages, packageName, 'packages', 'cli', 'bin', 'berth.js'),
    node: existsSync(node) ? node : undefined,
  }
}

/** The version that serves the data folder, and the version of the package that started the upgrade to it. */
export function readPointer(dataDir) {
  try {
    const { version, installed } = JSON.parse(readFileSync(pointerFile(dataDir), 'utf8'))
    return isVersion(version) && isVersion(installed) ? { version, installed } : undefined
  } catch {
    return undefined
  }
}

/** Running the code of another user would give that user the rights of this one. */
export function isTrusted(file) {
  const { uid } = statSync(file)
  return process.getuid === undefined || uid === 0 || uid === process.getuid()
}

/**
 * The program to run in place of the installed package, whose version is given. Undefined: the package itself. A package that was
 * installed after the upgrade and is newer wins: its operator wants it.
 */
export function pointedProgram(env, installedVersion) {
  const dataDir = dataFolder(env)
  const pointer = readPointer(dataDir)
  if (!pointer) return undefined
  if (pointer.installed !== installedVersion && compareVersions(installedVersion, pointer.version) > 0) return undefined
  const program = programOf(dataDir, pointer.version)
  return existsSync(program.launcher) ? program : undefined
}
