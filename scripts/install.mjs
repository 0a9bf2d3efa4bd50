// Installs the packages that the lockfile names. Runs on the machine's own Node, before any package is installed.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { endBy, root, runProgram, secondsSince, showProgress } from './programs.mjs'

/**
 * Installs only if node_modules does not match the lockfile. Returns true once it matches; throws an error with the message to
 * show.
 */
export async function install() {
  if (isInstalled()) return true
  const start = performance.now()
  const endProgress = showProgress('installing packages')
  // Not `npm ci`: it refuses a lockfile without the packages of other platforms, and it removes packages that are already
  // correct.
  const { code, interrupted, output } = await npm([
    'install',
    '--no-save',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
  ]).finally(endProgress)
  if (interrupted) await endBy(interrupted)
  if (code !== 0) throw new Error(installFailure(output))
  if (!isInstalled())
    throw new Error(
      'npm installed other packages than package-lock.json names: package.json has changed without it. Run npm install to update it',
    )
  console.log(`installed in ${secondsSince(start)}`)
  return true
}

/**
 * Compares the lockfile with npm's own record in node_modules, which npm writes as the last step: an interrupted install has none.
 * Every package of the lockfile must be installed, and no other one. Only a package for another platform may be absent.
 */
function isInstalled() {
  const wanted = readLock('package-lock.json')
  const got = readLock('node_modules/.package-lock.json')
  if (!wanted || !got) return false
  const same = (a, b) => a.link === b.link && a.version === b.version && a.integrity === b.integrity
  const complete = Object.entries(wanted)
    .filter(([path, entry]) => path.includes('node_modules/') && !entry.extraneous)
    .every(([path, entry]) => (got[path] ? same(got[path], entry) : entry.optional && !isForThisPlatform(entry)))
  return complete && Object.entries(got).every(([path, entry]) => wanted[path] || entry.optional)
}

function readLock(path) {
  const file = join(root, path)
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).packages : undefined
}

function isForThisPlatform({ os, cpu, libc }) {
  const allows = (list, value) => !list || [list].flat().includes(value)
  return allows(os, process.platform) && allows(cpu, process.arch) && (!libc || allows(libc, libcName()))
}

function libcName() {
  return process.report?.getReport().header.glibcVersionRuntime ? 'glibc' : 'musl'
}

/** Runs npm: the one that started this script, if any, since the npm on the PATH may be older. */
function npm(args) {
  const cli = process.env.npm_execpath
  const quiet = { quiet: true, env: process.env }
  if (cli?.endsWith('.js') && existsSync(cli)) return runProgram(process.execPath, [cli, ...args], quiet)
  return runProgram('npm', args, quiet).catch((error) => {
    throw new Error(
      error.code === 'ENOENT' ? 'npm is not in the PATH: install Node with npm first' : `npm cannot be run: ${error.message}`,
    )
  })
}

function installFailure(output) {
  const lines = output
    .split('\n')
    .filter((line) => line.trim() && !/^npm error\s*(at .*)?$|A complete log of this run/.test(line))
  const network = /E(NOTFOUND|AI_AGAIN|CONNREFUSED|CONNRESET|TIMEDOUT|HOSTUNREACH)|network|fetch failed/.test(output)
  const hint = network
    ? 'the package registry cannot be reached: check the network, or the registry and proxy settings of npm'
    : 'npm install failed'
  return `${hint}\n${lines.slice(-12).join('\n')}`
}
