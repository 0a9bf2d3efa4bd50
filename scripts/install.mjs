// Brings the packages that the lockfile names. Runs on the machine's own Node, with nothing installed.
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
    throw new Error('npm did not install what the lockfile names: package.json and package-lock.json do not fit each other')
  console.log(`installed in ${secondsSince(start)}`)
  return true
}

/**
 * npm writes its own record into node_modules as the last step of an install, so an interrupted install has none. Compared in
 * both directions: every package of the lockfile is installed, and no other one is. A platform package may be absent on other
 * platforms.
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

/** The npm that runs us, if one does: another one of the PATH may be older. */
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
