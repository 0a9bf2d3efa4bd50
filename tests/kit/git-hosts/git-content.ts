import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)
const git = async (folder: string, ...args: string[]) =>
  (await run('git', ['-C', folder, ...args], { maxBuffer: 32 * 1024 * 1024, encoding: 'buffer' })).stdout

/** The data of a repository in a host's API, read from the real git repository. */

export async function branchesIn(folder: string) {
  const text = (await git(folder, 'for-each-ref', '--format=%(refname:short) %(objectname)', 'refs/heads')).toString()
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => ({ name: line.slice(0, line.lastIndexOf(' ')), commit: line.slice(line.lastIndexOf(' ') + 1) }))
}

export interface Entry {
  mode: string
  type: 'blob' | 'tree' | 'commit'
  sizeBytes: number | null
  path: string
  name: string
}

/** Null: the path does not exist. */
export async function entriesAt(folder: string, ref: string, path: string): Promise<Entry[] | null> {
  const at = path === '' ? ref : `${ref}:${path}`
  const listed = await git(folder, 'ls-tree', '-l', '-z', at).catch(() => null)
  if (!listed) return null
  const lines = listed.toString().split('\0').filter(Boolean)
  return lines.map((line) => {
    const [, mode, type, size, name] = /^(\d+) (\w+) \S+ +(\S+)\t(.*)$/s.exec(line)!
    return {
      mode: mode!,
      type: type as Entry['type'],
      sizeBytes: size === '-' ? null : Number(size),
      name: name!,
      path: path === '' ? name! : `${path}/${name}`,
    }
  })
}

export const fileAt = (folder: string, ref: string, path: string): Promise<Buffer | null> =>
  git(folder, 'cat-file', 'blob', `${ref}:${path}`).catch(() => null)

export const isEmpty = async (folder: string): Promise<boolean> => (await branchesIn(folder)).length === 0

/** Null: there is no file at that path. */
export const blobId = (folder: string, ref: string, path: string): Promise<string | null> =>
  git(folder, 'rev-parse', '--verify', '--quiet', `${ref}:${path}`).then(
    (found) => found.toString().trim(),
    () => null,
  )

export const blobOf = (folder: string, id: string): Promise<Buffer | null> =>
  git(folder, 'cat-file', 'blob', id).catch(() => null)

export const hasRef = (folder: string, ref: string): Promise<boolean> =>
  git(folder, 'rev-parse', '--verify', '--quiet', `${ref}^{commit}`).then(
    () => true,
    () => false,
  )
