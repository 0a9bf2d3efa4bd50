import { chmod, lchown, lstat, mkdir, readdir, readFile, realpath, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { join, posix } from 'node:path'
import { measureFolder } from '../../../folder/measure-folder.ts'
import type { Tool } from './tool-packages.ts'
import { ToolUnavailable } from './tool-unavailable.ts'
import { formatVersion, versionOf } from './version-range.ts'

export interface ToolRecord {
  tool: Tool
  version: string
  sizeBytes: number
  fetchedAt: string
}

interface FetchedPackage {
  tool: Tool
  /** Package name. */
  name: string
  programs: Readonly<Record<string, string>>
}

/** Creates a `bin` folder for the package that npm installed. Returns the installed version. */
export async function arrangePrograms({ tool, name, programs }: FetchedPackage, folder: string): Promise<string> {
  const home = join(folder, 'node_modules', name)
  const manifest = await readManifest(join(home, 'package.json'))
  const version = versionOf(String(manifest.version))
  if (manifest.name !== name || !version)
    throw new ToolUnavailable(`the downloaded package is not ${name}, or its version is invalid`)
  await mkdir(join(folder, 'bin'))
  await chmod(join(folder, 'bin'), 0o755)
  for (const [program, declaredPath] of Object.entries({ ...binOf(manifest.bin, tool), ...programs })) {
    const relativePath = posix.normalize(declaredPath)
    if (!/^[\w.-]{1,40}$/.test(program) || relativePath.startsWith('..') || relativePath.startsWith('/'))
      throw new ToolUnavailable(`the package ${name} declares a program outside of its own folder`)
    const file = join(home, relativePath)
    // No part of the path may be a link.
    const isWithoutLinks = (await realpath(file).catch(() => null)) === join(await realpath(home), relativePath)
    if (!isWithoutLinks || !(await lstat(file)).isFile()) throw new ToolUnavailable(`the package ${name} has no ${relativePath}`)
    await chmod(file, 0o755)
    await symlink(posix.join('..', 'node_modules', name, relativePath), join(folder, 'bin', program))
  }
  return formatVersion(version)
}

/** Finishes a tool: no project user owns it, every user can read it, and its record is written. */
export async function finishTool(tool: Tool, version: string, folder: string, hasOwnUsers: boolean): Promise<void> {
  for (const leftover of [
    'home',
    'tmp',
    'package.json',
    join('node_modules', '.bin'),
    join('node_modules', '.package-lock.json'),
  ])
    await rm(join(folder, leftover), { recursive: true, force: true })
  const record: ToolRecord = {
    tool,
    version,
    sizeBytes: (await measureFolder(folder)).bytes,
    fetchedAt: new Date().toISOString(),
  }
  await makeWorldReadable(folder, hasOwnUsers)
  await writeFile(join(folder, 'tool.json'), JSON.stringify(record), { mode: 0o600 })
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
async function makeWorldReadable(folder: string, hasOwnUsers: boolean): Promise<void> {
  if (hasOwnUsers) await lchown(folder, 0, 0)
  await chmod(folder, 0o755)
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) await makeWorldReadable(path, hasOwnUsers)
    else {
      if (hasOwnUsers) await lchown(path, 0, 0)
      if (entry.isFile()) await chmod(path, (await lstat(path)).mode & 0o111 ? 0o755 : 0o644)
    }
  }
}

export async function readToolRecord(folder: string): Promise<ToolRecord | null> {
  try {
    return JSON.parse(await readFile(join(folder, 'tool.json'), 'utf8')) as ToolRecord
  } catch {
    return null
  }
}

/** Records the time of use. The least recently used tool is removed first. */
export const markUsed = (folder: string, now: Date) => utimes(join(folder, 'tool.json'), now, now).catch(() => undefined)
export const lastUsed = async (folder: string) => (await lstat(join(folder, 'tool.json')).catch(() => null))?.mtimeMs ?? 0
