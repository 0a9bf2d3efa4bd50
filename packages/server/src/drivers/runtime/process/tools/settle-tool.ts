import { chmod, lchown, lstat, mkdir, readdir, readFile, realpath, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { join, posix } from 'node:path'
import { measureFolder } from '../../../folder/measure-folder.ts'
import type { Tool } from './tool-packages.ts'
import { ToolUnavailable } from './tool-unavailable.ts'
import { textOf, versionOf } from './version-range.ts'

export interface ToolNote {
  tool: Tool
  version: string
  sizeBytes: number
  fetchedAt: string
}

interface Fetched {
  tool: Tool
  /** Package name. */
  name: string
  programs: Readonly<Record<string, string>>
}

/** Creates a `bin` folder for the package that npm installed. Returns the installed version. */
export async function arrangePrograms({ tool, name, programs }: Fetched, folder: string): Promise<string> {
  const home = join(folder, 'node_modules', name)
  const manifest = await readManifest(join(home, 'package.json'))
  const version = versionOf(String(manifest.version))
  if (manifest.name !== name || !version) throw new ToolUnavailable(`the package ${name} is not what it is called`)
  await mkdir(join(folder, 'bin'))
  await chmod(join(folder, 'bin'), 0o755)
  for (const [program, named] of Object.entries({ ...binOf(manifest.bin, tool), ...programs })) {
    const inside = posix.normalize(named)
    if (!/^[\w.-]{1,40}$/.test(program) || inside.startsWith('..') || inside.startsWith('/'))
      throw new ToolUnavailable(`the package ${name} names a program outside of itself`)
    const file = join(home, inside)
    // No part of the path may be a link.
    const isItself = (await realpath(file).catch(() => null)) === join(await realpath(home), inside)
    if (!isItself || !(await lstat(file)).isFile()) throw new ToolUnavailable(`the package ${name} has no ${inside}`)
    await chmod(file, 0o755)
    await symlink(posix.join('..', 'node_modules', name, inside), join(folder, 'bin', program))
  }
  return textOf(version)
}

/** Finishes a tool: no project user owns it, every user can read it, and its record is written. */
export async function closeTool(tool: Tool, version: string, folder: string, hasOwnUsers: boolean): Promise<void> {
  for (const left of ['home', 'tmp', 'package.json', join('node_modules', '.bin'), join('node_modules', '.package-lock.json')])
    await rm(join(folder, left), { recursive: true, force: true })
  const note: ToolNote = { tool, version, sizeBytes: (await measureFolder(folder)).bytes, fetchedAt: new Date().toISOString() }
  await openToAll(folder, hasOwnUsers)
  await writeFile(join(folder, 'tool.json'), JSON.stringify(note), { mode: 0o600 })
}

async function readManifest(file: string): Promise<{ name?: unknown; version?: unknown; bin?: unknown }> {
  try {
    const { size } = await lstat(file)
    if (size > 1024 * 1024) throw new Error('too large')
    return JSON.parse(await readFile(file, 'utf8'))
  } catch {
    throw new ToolUnavailable('the download is not a package')
  }
}

function binOf(bin: unknown, tool: string): Record<string, string> {
  if (typeof bin === 'string') return { [tool]: bin }
  const entries = Object.entries((bin ?? {}) as Record<string, unknown>)
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string').slice(0, 20))
}

/** Makes a tool readable for all users. The fetching processes have ended, so no file changes meanwhile. */
async function openToAll(folder: string, hasOwnUsers: boolean): Promise<void> {
  if (hasOwnUsers) await lchown(folder, 0, 0)
  await chmod(folder, 0o755)
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) await openToAll(path, hasOwnUsers)
    else {
      if (hasOwnUsers) await lchown(path, 0, 0)
      if (entry.isFile()) await chmod(path, (await lstat(path)).mode & 0o111 ? 0o755 : 0o644)
    }
  }
}

export async function readToolNote(folder: string): Promise<ToolNote | null> {
  try {
    return JSON.parse(await readFile(join(folder, 'tool.json'), 'utf8')) as ToolNote
  } catch {
    return null
  }
}

/** Records the time of use. The least recently used tool is removed first. */
export const markUsed = (folder: string, now: Date) => utimes(join(folder, 'tool.json'), now, now).catch(() => undefined)
export const lastUsed = async (folder: string) => (await lstat(join(folder, 'tool.json')).catch(() => null))?.mtimeMs ?? 0
