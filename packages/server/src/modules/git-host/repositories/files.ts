import type { FileEntry, FileQuery, FilesQuery, RepositoryFile } from '@berth/contract'
import type { Caller } from '../../../http/handler.ts'
import { fail, refuse } from '../../../platform/failure.ts'
import type { GitHostDeps } from '../deps.ts'
import { type WantedRepository, withRepository } from './repositories.ts'

/** Removes leading and trailing slashes; hosts use '' for the root. */
const trimmed = (path: string) => path.replace(/^\/+|\/+$/g, '')
const onBranch = (branch: string | undefined) => (branch ? { branch } : {})

export const listFiles = (
  wanted: WantedRepository,
  { path = '', branch }: FilesQuery,
  caller: Caller,
  deps: GitHostDeps,
): Promise<FileEntry[]> =>
  withRepository(wanted, caller, deps, (name, access, host) =>
    host.files(access, name, { path: trimmed(path), ...onBranch(branch) }),
  )

export async function getFile(
  wanted: WantedRepository,
  query: FileQuery,
  caller: Caller,
  deps: GitHostDeps,
): Promise<RepositoryFile> {
  const { file = 'package.json', branch } = query
  const path = trimmed(file)
  if (path === '') refuse('file', 'must name a file')
  const read = await withRepository(wanted, caller, deps, (name, access, host) =>
    host.file(access, name, { path, ...onBranch(branch) }),
  )
  if (read.text.includes('\0')) refuse('file', 'is not a text file')
  const { text, ...rest } = read
  return { ...rest, content: path.toLowerCase().endsWith('.json') ? parseFile(text, path) : text }
}

function parseFile(text: string, path: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ''))
  } catch {
    return fail('invalid_json', { message: `${path} is not valid JSON`, field: 'file' })
  }
}
