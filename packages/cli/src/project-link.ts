import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { Command } from 'commander'
import { CliError } from './exit-codes.ts'

/** The link from a folder to its project, stored in the folder; it contains no secret and may be committed. */
export interface ProjectLink {
  projectId: string
  url: string
}

const file = (folder: string) => join(folder, '.berth', 'project.json')

export function readLink(folder: string): ProjectLink | null {
  try {
    return JSON.parse(readFileSync(file(folder), 'utf8')) as ProjectLink
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw new CliError(`${file(folder)} cannot be read: ${(error as Error).message}`)
  }
}

export function writeLink(folder: string, link: ProjectLink): void {
  mkdirSync(join(folder, '.berth'), { recursive: true })
  const temporaryFile = `${file(folder)}.${process.pid}`
  writeFileSync(temporaryFile, `${JSON.stringify(link, null, 2)}\n`)
  renameSync(temporaryFile, file(folder))
}

/** The folder itself or its nearest linked parent; `null` if there is none. */
export function linkedFolder(folder: string): string | null {
  for (let location = resolve(folder); ; location = dirname(location)) {
    if (existsSync(file(location))) return location
    if (location === dirname(location)) return null
  }
}

export function findLink(folder: string): ProjectLink | null {
  const location = linkedFolder(folder)
  return location === null ? null : readLink(location)
}

export function removeLink(folder: string): void {
  rmSync(file(folder))
}

/** The option of every command that acts on one project. */
export const projectOption = [
  '--project <project>',
  'id, slug or name of the project (default: the one linked to this folder)',
] as const

/** The id from `--project` (see `resolveProjectOption`), or of the project that the folder or a parent of it is linked to. `next` is the command that links it. */
export function projectIdOf(command: Command, next = 'berth deploy'): string {
  const option = command.opts().project as string | undefined
  const linked = option ?? findLink('.')?.projectId
  if (!linked)
    throw new CliError(`This folder is not linked to a project. Run ${next} first, or name a project with --project.`, 2)
  return linked
}
