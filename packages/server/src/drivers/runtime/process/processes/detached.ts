import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import type { Writable } from 'node:stream'
import type { Launched } from '../sandbox/sandbox.ts'

/** Starts a program that outlives the control plane and writes its output to files. */
export async function startDetached(
  { program, args, env, cwd, handover }: Launched,
  files: { stdout: string; stderr: string },
): Promise<ChildProcess> {
  const [stdout, stderr] = [files.stdout, files.stderr].map((file) => openSync(file, 'a', 0o600)) as [number, number]
  try {
    const child = spawn(program, args, { cwd, env, detached: true, stdio: ['ignore', stdout, stderr, 'pipe'] })
    await new Promise<void>((resolve, reject) => child.once('spawn', resolve).once('error', reject))
    sendHandover(child, handover)
    return child
  } finally {
    closeSync(stdout)
    closeSync(stderr)
  }
}

/** Sends the handover. Ignores write errors: the exit event reports a process that died before it read. */
function sendHandover(child: ChildProcess, handover: string): void {
  const pipe = child.stdio[3] as Writable
  pipe.on('error', () => pipe.destroy())
  pipe.end(handover)
}

const signalNumbers: Record<string, number> = { SIGHUP: 1, SIGINT: 2, SIGABRT: 6, SIGKILL: 9, SIGSEGV: 11, SIGTERM: 15 }

/** Exit code as a shell reports it. */
export const exitCodeOf = (code: number | null, signal: NodeJS.Signals | null): number | null =>
  code ?? (signal ? 128 + (signalNumbers[signal] ?? 0) : null)

const lastBytes = 16 * 1024

/** Current length of a file. Bytes after it were written later. */
export const lengthOf = (file: string): number => withFile(file, 0, (open) => fstatSync(open).size)

/** Last bytes written since the file had that length. All of a file that was truncated meanwhile is new. */
export const writtenSince = (file: string, length: number): string =>
  withFile(file, '', (open) => {
    const { size } = fstatSync(open)
    const from = Math.max(size < length ? 0 : length, size - lastBytes)
    const text = Buffer.alloc(size - from)
    return text.toString('utf8', 0, readSync(open, text, 0, text.length, from))
  })

function withFile<T>(file: string, fallback: T, use: (open: number) => T): T {
  let open: number
  try {
    open = openSync(file, 'r')
  } catch {
    return fallback
  }
  try {
    return use(open)
  } finally {
    closeSync(open)
  }
}
