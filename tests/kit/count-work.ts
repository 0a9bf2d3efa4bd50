import fs from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'

/** Returns the arguments of every call of a built-in module's function while `work` runs, including calls through a named import. */
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

/** Counts the bytes read from opened files while `work` runs: unlike time, this does not depend on the load of the machine. */
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
