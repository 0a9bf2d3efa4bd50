import { type ChildProcess, spawn } from 'node:child_process'

export interface ReaderProgram {
  program: string
  entry: string
  heapMb: number
}

/**
 * Starts a process that may only read files: it cannot start programs or write files, and gets none of our environment variables.
 * It exits when its IPC channel closes.
 */
export function spawnReader({ program, entry, heapMb }: ReaderProgram): ChildProcess {
  return spawn(
    program,
    [`--max-old-space-size=${heapMb}`, '--max-semi-space-size=8', '--permission', '--allow-fs-read=*', '--no-warnings', entry],
    { cwd: '/', env: { NODE_ENV: 'production', UV_THREADPOOL_SIZE: '8' }, stdio: ['ignore', 'ignore', 'ignore', 'ipc'] },
  )
}
