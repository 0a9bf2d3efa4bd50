// Global set-up: bundles the folder reader once per run. Each reader process would compile the TypeScript sources again, which takes
// 1.1 s of processor time; loading the bundle takes 0.1 s.
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
// @ts-expect-error a program without types
import { bundle } from '../build/bundle.mjs'
// @ts-expect-error a program without types
import { targets } from '../build/targets.mjs'
// @ts-expect-error a program without types
import { root } from '../programs.mjs'

declare module 'vitest' {
  interface ProvidedContext {
    readerEntry: string
  }
}

/** Returns the clean-up. */
export async function setup({ name, provide }: TestProject): Promise<() => void> {
  const folder = join(root, 'node_modules', '.cache', 'berth-test', `reader-${name}-${process.pid}`)
  mkdirSync(folder, { recursive: true })
  const { reader } = targets.find((target: { name: string }) => target.name === 'server').entries
  await bundle({ entries: { reader } }, folder)
  provide('readerEntry', join(folder, 'reader.js'))
  return () => rmSync(folder, { recursive: true, force: true })
}
