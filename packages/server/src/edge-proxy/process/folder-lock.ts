import { open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import net from 'node:net'
import { socketAddress } from '../../platform/socket-path.ts'
import { edgeFiles } from '../protocol/edge-settings.ts'

const startingMs = 10_000

export class AnotherEdge extends Error {
  constructor() {
    super('another edge proxy already runs in this folder')
    this.name = 'AnotherEdge'
  }
}

/**
 * Ensures one edge per folder. The lock file names its process; it is valid while that process answers on the socket, or is too
 * young to answer yet. The lock of a killed process is ignored.
 */
export async function lockFolder(folder: string, isTakeover: boolean): Promise<() => Promise<void>> {
  const { lock, socket } = edgeFiles(folder)
  if (isTakeover) {
    await writeFile(`${lock}.new`, String(process.pid), { mode: 0o600 })
    await rename(`${lock}.new`, lock)
  } else if (!(await createLock(lock))) {
    if ((await isAnswering(socket)) || (await isStarting(lock))) throw new AnotherEdge()
    await rm(lock, { force: true })
    if (!(await createLock(lock))) throw new AnotherEdge()
  }
  return async () => {
    if (await ownsFolder(folder)) await rm(lock, { force: true })
  }
}

/** False if the folder was removed or belongs to another edge: no control plane can find this edge any more. */
export async function ownsFolder(folder: string): Promise<boolean> {
  try {
    return (await readFile(edgeFiles(folder).lock, 'utf8')) === String(process.pid)
  } catch (cause) {
    // Any error except a missing file (for example, no free descriptor) proves nothing.
    return (cause as NodeJS.ErrnoException).code !== 'ENOENT'
  }
}

async function createLock(lock: string): Promise<boolean> {
  try {
    const file = await open(lock, 'wx', 0o600)
    await file.writeFile(String(process.pid))
    await file.close()
    return true
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw cause
  }
}

function isAnswering(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect(socketAddress(path))
    const finish = (answer: boolean) => {
      socket.destroy()
      resolve(answer)
    }
    socket.once('connect', () => finish(true))
    socket.once('error', () => finish(false))
  })
}

async function isStarting(lock: string): Promise<boolean> {
  const [lockStat, pid] = await Promise.all([stat(lock).catch(() => undefined), readFile(lock, 'utf8').catch(() => '')])
  if (!lockStat || Date.now() - lockStat.mtimeMs > startingMs) return false
  try {
    process.kill(Number(pid), 0)
    return Number(pid) !== process.pid
  } catch {
    return false
  }
}
