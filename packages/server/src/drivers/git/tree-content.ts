import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { CommandResult } from '../shell/command.ts'
import { GitTooLarge } from './git-errors.ts'
import type { GitCall } from './safe-git.ts'

export interface TreeContent {
  links: string[]
  submodules: { path: string; commit: string }[]
  files: number
  bytes: number
}

/**
 * Lists a commit before it is checked out. A few kilobytes of git objects can name one file a billion times, so the listing
 * stops when a limit is exceeded.
 */
export async function listTree(
  run: (call: Omit<GitCall, 'timeoutMs'>) => Promise<CommandResult>,
  commit: string,
  { maxBytes, maxFiles }: { maxBytes: number; maxFiles: number },
): Promise<TreeContent> {
  const content: TreeContent = { links: [], submodules: [], files: 0, bytes: 0 }
  const decoder = new TextDecoder()
  let rest = ''
  const addEntry = (entry: string) => {
    // "mode kind id size<TAB>path"
    const tab = entry.indexOf('\t')
    const [mode, , id, size] = entry.slice(0, tab).split(/ +/)
    const path = entry.slice(tab + 1)
    content.files += 1
    content.bytes += Number(size) || 0
    if (mode === '120000') content.links.push(path)
    if (mode === '160000') content.submodules.push({ path, commit: id ?? '' })
    if (content.files > maxFiles) throw new GitTooLarge(`The commit has more than ${maxFiles} files`)
    if (content.bytes > maxBytes)
      throw new GitTooLarge(`The files of the commit are larger than ${Math.round(maxBytes / 1_000_000)} MB`)
  }
  const onStdout = (chunk: Uint8Array) => {
    const entries = (rest + decoder.decode(chunk, { stream: true })).split('\0')
    rest = entries.pop() ?? ''
    for (const entry of entries) addEntry(entry)
  }
  await run({ args: ['ls-tree', '-r', '-l', '-z', '--full-tree', commit], onStdout, maxOutputBytes: 0 })
  return content
}

/** Total size of the files directly in the folder; files that disappear meanwhile count as 0. */
export async function folderBytes(folder: string): Promise<number> {
  const names = await readdir(folder).catch(() => [])
  const sizes = await Promise.all(
    names.map((name) =>
      stat(join(folder, name)).then(
        ({ size }) => size,
        () => 0,
      ),
    ),
  )
  return sizes.reduce((sum, size) => sum + size, 0)
}
