import { closeSync, readdirSync, readFileSync } from 'node:fs'

const closeOnExec = 0o2000000

/**
 * Closes what the process that started us had open and would pass on to everything we start, projects included. What Node
 * opened itself is marked to stay behind, and is left alone. Does nothing where there is no /proc.
 */
export function closeInherited(): void {
  for (const name of namesIn('/proc/self/fd')) {
    const fd = Number(name)
    if (fd > 2 && (flagsOf(fd) & closeOnExec) === 0) close(fd)
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

/** One that cannot be asked about counts as Node's own. */
function flagsOf(fd: number): number {
  try {
    return (
      Number.parseInt(/^flags:\s*([0-7]+)/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'latin1'))?.[1] ?? '', 8) || closeOnExec
    )
  } catch {
    return closeOnExec
  }
}

function close(fd: number): void {
  try {
    closeSync(fd)
  } catch {
    // The folder's own descriptor, which is closed by now.
  }
}
