import fs from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'

/** The arguments of every call of a built-in module's function while `work` runs, also where others imported it by name. */
export async function callsOf(module: object, name: string, work: () => unknown): Promise<unknown[][]> {
  const functions = module as Record<string, (...args: unknown[]) => unknown>
  const real = functions[name] as (...args: unknown[]) => unknown
  const calls: unknown[][] = []
  functions[name] = function (this: unknown, ...args) {
    calls.push(args)
    return real.apply(this, args)
  }
  syncBuiltinESMExports()
  try {
    await work()
  } finally {
    functions[name] = real
    syncBuiltinESMExports()
  }
  return calls
}

/** How many bytes are read from opened files while `work` runs: what a read costs, on a busy machine as on a quiet one. */
export async function bytesRead(work: () => unknown): Promise<number> {
  const handle = await fs.open(import.meta.filename)
  const prototype = Object.getPrototypeOf(handle) as fs.FileHandle
  await handle.close()
  const real = prototype.read
  let bytes = 0
  prototype.read = async function (this: fs.FileHandle, ...args: unknown[]) {
    const result = (await Reflect.apply(real, this, args)) as { bytesRead: number }
    bytes += result.bytesRead
    return result
  } as typeof real
  try {
    await work()
  } finally {
    prototype.read = real
  }
  return bytes
}
