import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Project } from '@berth/contract'
import { type Hosting, serving, writeApp } from './hosting.ts'

/** Programs that a build runs. Each ends as a failed build, so that all deployments take the same steps. */
export const builds = {
  'does nothing much': `setTimeout(() => process.exit(3), 900)`,
  'allocates memory without end': `const all = []; setInterval(() => all.push(Buffer.alloc(8 * 1024 * 1024, 1)), 5)`,
  /** Continues after every refused fork. */
  'forks without end': `
import { spawn } from 'node:child_process'
process.on('uncaughtException', () => {})
setInterval(() => { for (let at = 0; at < 20; at++) spawn('sleep', ['600']).on('error', () => {}) }, 1)
`,
}
export type BuildName = keyof typeof builds

/** A live app whose response times are measured while others build. Returns its host. */
export async function deployCalmApp(hosting: Hosting): Promise<string> {
  const folder = join(hosting.folder, 'calm')
  await writeApp(folder, serving('calm'))
  const calm = await hosting.makeProject({ name: 'calm', localPath: folder })
  const { error } = await hosting.settled(await hosting.deploy(calm.id))
  if (error) throw new Error(error.message)
  return `${calm.slug}.localhost`
}

/** A project whose build runs that program with one core and 256 MB. */
export async function makeBuild(hosting: Hosting, name: BuildName): Promise<Project> {
  const folder = join(hosting.folder, name.replaceAll(' ', '-'))
  await writeApp(folder, serving(name))
  await writeFile(join(folder, 'greedy.js'), builds[name])
  const project = await hosting.makeProject({ name, localPath: folder, buildCommand: 'node greedy.js' })
  const build = { cpuCores: 1, memoryMb: 256, diskMb: 1024 }
  const { status } = await hosting.api('PATCH', `/projects/${project.id}/resources`, { build })
  if (status !== 200) throw new Error(`the limits of the build were not taken: ${status}`)
  return project
}

export const p99 = (tookMs: readonly number[]): number =>
  tookMs.toSorted((a, b) => a - b)[Math.floor(tookMs.length * 0.99)] as number
