#!/usr/bin/env node
// Plain JavaScript that any Node from 18 on can read: it finds a Node new enough for Berth, or says that there is none.
import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import module from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { serverEnv, serverFlags } from './server-process.js'
import { dataFolder, isTrusted, pointedProgram, pointerFile } from './versions.js'

const neededMajor = 24
const launcher = fileURLToPath(import.meta.url)
const dist = join(dirname(launcher), '..', 'dist')

const isServer = process.argv[2] === 'up'
const flags = isServer ? serverFlags.filter((flag) => !process.execArgv.includes(flag)) : []

const isNewEnough = Number.parseInt(process.versions.node, 10) >= neededMajor
const upgraded = upgradedProgram()

if (upgraded) handOver(upgraded)
else if (!isNewEnough) runWith(findNode(), launcher)
else if (flags.length > 0 && process.execve && !process.env.BERTH_LAUNCHED) startAgain()
else await runHere()

/** The process takes flags and settings of its memory only at its start. Its id stays the same. */
function startAgain() {
  const env = { ...serverEnv, ...process.env }
  process.execve(process.execPath, [process.execPath, ...process.execArgv, ...flags, ...process.argv.slice(1)], env)
}

/** The version that `berth upgrade` put in the place of this package. It does not hand over in turn; a clone never does. */
function upgradedProgram() {
  if (process.env.BERTH_LAUNCHER || process.env.BERTH_LAUNCHED) return undefined
  const installed = installedVersion()
  const program = installed && pointedProgram(process.env, installed)
  if (!program || isTrusted(program.launcher)) return program
  console.error(`warning: ${pointerFile(dataFolder(process.env))} belongs to another user and is ignored`)
  return undefined
}

/** Undefined in a clone, which is upgraded by git. */
function installedVersion() {
  try {
    const manifest = JSON.parse(readFileSync(join(dirname(launcher), '..', '..', '..', 'package.json'), 'utf8'))
    return manifest.private ? undefined : manifest.version
  } catch {
    return undefined
  }
}

/** Other programs know this launcher, so its path is passed on. */
function handOver({ launcher: target, node = isNewEnough ? process.execPath : findNode() }) {
  const env = { ...(isServer ? serverEnv : {}), ...process.env, BERTH_LAUNCHER: launcher }
  const args = [...process.execArgv, ...flags, target, ...process.argv.slice(2)]
  if (process.execve && node) process.execve(node, [node, ...args], env)
  else runWith(node, target, { BERTH_LAUNCHER: launcher })
}

async function runHere() {
  if (process.env.BERTH_LAUNCHED) endWithLauncher()
  if (isServer) keepFromChildren(serverEnv)
  const program = join(dist, 'main.js')
  if (!existsSync(program)) stop('Berth is not built: run npm run build first')
  keepCompiledCode()
  await import(pathToFileURL(program).href)
}

/** Read at the start and of no use to a project's programs. */
function keepFromChildren(settings) {
  for (const [name, value] of Object.entries(settings)) if (process.env[name] === value) delete process.env[name]
}

/** The older Node that launched us holds the other end of a channel: when it is killed, nobody is left to pass signals on. */
function endWithLauncher() {
  delete process.env.BERTH_LAUNCHED
  if (!process.channel) return
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
  process.channel.unref()
}

/** Compiled code of an earlier run saves a start a fifth of its work. A service may run for months and end by SIGKILL, so it is
 * written soon after the start and not only at the end. */
function keepCompiledCode() {
  module.enableCompileCache(join(dist, '.compile-cache'))
  setTimeout(() => module.flushCompileCache(), 15_000).unref()
}

function runWith(node, target, more = {}) {
  if (!node || process.env.BERTH_LAUNCHED)
    stop(`Berth needs Node ${neededMajor} or newer; this is ${process.version} and no newer one was found`)
  const child = spawn(node, [...flags, target, ...process.argv.slice(2)], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: { ...(isServer ? serverEnv : {}), ...process.env, ...more, BERTH_LAUNCHED: '1' },
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      // A terminal's Ctrl-C reaches the child by itself.
      if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal)
    })
  }
  child.on('error', (error) => stop(`Berth cannot run ${node}: ${error.message}`))
  child.on('exit', (code, signal) => {
    if (!signal) process.exit(code)
    process.removeAllListeners(signal)
    process.kill(process.pid, signal)
  })
}

/** The Node that the lockfile brings: the platform's package, or what npm linked from it. */
function findNode() {
  try {
    const manifest = module.createRequire(launcher).resolve(`node-${process.platform}-${process.arch}/package.json`)
    return join(dirname(manifest), 'bin', 'node')
  } catch {
    for (let folder = dirname(launcher); folder !== dirname(folder); folder = dirname(folder)) {
      const linked = join(folder, 'node_modules', '.bin', 'node')
      if (existsSync(linked)) return linked
    }
    return undefined
  }
}

function stop(message) {
  console.error(message)
  process.exit(1)
}
