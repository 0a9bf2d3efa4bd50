// Plain JavaScript for the machine's own Node, before anything is installed.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { setPriority } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('..', import.meta.url)).replace(/\/$/, '')

const endings = ['SIGINT', 'SIGTERM', 'SIGHUP']

/** The Node of the lockfile; the running one only if it is new enough. */
export function bundledNode() {
  const bundled = join(root, 'node_modules', '.bin', 'node')
  if (existsSync(bundled)) return bundled
  if (Number.parseInt(process.versions.node, 10) >= 24) return process.execPath
  throw new Error(
    `Berth needs Node 24, and there is no bundled one for ${process.platform}-${process.arch}: install Node 24 and run this again`,
  )
}

/** An environment in which `env node`, and so every program of node_modules/.bin, finds the bundled Node first. */
export function toolEnvironment(more = {}) {
  return { ...process.env, ...more, PATH: [join(root, 'node_modules', '.bin'), process.env.PATH].join(delimiter) }
}

export const tool = (name) => join(root, 'node_modules', '.bin', name)

/**
 * Runs a program to its end in the root of the clone. A signal that would end this process is forwarded to the program instead, and
 * returned as `interrupted`. With `quiet` the program's output is returned and not shown.
 */
export function runProgram(program, args, { env = toolEnvironment(), quiet = false, niceness = 0 } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd: root, env, stdio: quiet ? ['ignore', 'pipe', 'pipe'] : 'inherit' })
    // Processes that it starts inherit its priority.
    if (niceness > 0 && child.pid !== undefined) setPriority(child.pid, niceness)
    let interrupted
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', (text) => (output += text))
    const pass = (signal) => {
      interrupted = signal
      child.kill(signal)
    }
    const settle = (finish) => {
      for (const signal of endings) process.off(signal, pass)
      finish()
    }
    for (const signal of endings) process.on(signal, pass)
    child.on('error', (error) => settle(() => reject(error)))
    child.on('close', (code, signal) => settle(() => resolve({ code: code ?? 1, interrupted: interrupted ?? signal, output })))
  })
}

/** Ends this process with the signal that interrupted the program, so that the calling process sees the real reason. */
export function endBy(signal) {
  process.removeAllListeners(signal)
  process.kill(process.pid, signal)
  return new Promise(() => {})
}

export const secondsSince = (start) => `${((performance.now() - start) / 1000).toFixed(1)} s`

/**
 * Shows that a step runs, with the seconds that it takes so far: each second on a terminal, as a line every 15 seconds elsewhere.
 * Returns the function that ends it.
 */
export function showProgress(step, { isTerminal = process.stdout.isTTY, write = (text) => process.stdout.write(text) } = {}) {
  const start = performance.now()
  const elapsed = () => `${step}… ${Math.floor((performance.now() - start) / 1000)} s`
  write(isTerminal ? `\r${elapsed()}` : `${step}…\n`)
  const show = () => write(isTerminal ? `\r${elapsed()}` : `${elapsed()}\n`)
  const timer = setInterval(show, isTerminal ? 1_000 : 15_000)
  return () => {
    clearInterval(timer)
    if (isTerminal) write('\r\x1b[K')
  }
}
