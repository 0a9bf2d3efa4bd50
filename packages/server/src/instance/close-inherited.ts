import { closeSync, readdirSync, readFileSync, readlinkSync, realpathSync } from 'node:fs'

const closeOnExec = 0o2000000

/**
 * Closes file descriptors inherited from the parent process, which every child process would inherit too, projects included.
 * Descriptors that Node opened are close-on-exec and are kept. So is the file of additional certificates, which a thread of Node
 * may be reading: its number would be given to another file, which that thread would then close. Does nothing without /proc.
 */
export function closeInherited(certificates = process.env.NODE_EXTRA_CA_CERTS): void {
  const keptPath = certificates ? pathOf(() => realpathSync(certificates)) : undefined
  for (const name of namesIn('/proc/self/fd')) {
    const fd = Number(name)
    if (fd <= 2 || (flagsOf(fd) & closeOnExec) !== 0) continue
    if (keptPath !== undefined && pathOf(() => readlinkSync(`/proc/self/fd/${fd}`)) === keptPath) continue
    close(fd)
  }
}

function pathOf(read: () => string): string | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

/** Flags of a descriptor; an unreadable one counts as Node's own. */
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
    // The descriptor of the folder listing, already closed.
  }
}
