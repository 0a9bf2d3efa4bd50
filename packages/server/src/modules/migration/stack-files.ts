import { posix } from 'node:path'
import { FileUnreadable, type ServerFiles } from '../../drivers/shell/ssh/server-files.ts'
import type { ComposeFile, StackFiles } from '../../source/compose/index.ts'
import type { ComposeLabels } from './compose-labels.ts'
import type { MigrationDeps } from './deps.ts'

export interface FilesOfStack {
  state: 'read' | 'missing' | 'unreadable'
  file: ComposeFile | null
  warnings: string[]
}

/** Reader of the files, the organisation it works for, and the abort signal. */
export interface ReadFor extends Pick<MigrationDeps, 'readStack'> {
  organizationId: string
  abort: AbortSignal
}

const maxFileLength = 128 * 1024
const fileMs = 10_000
/** Limit for other files that a stack refers to. */
const maxOtherFiles = 20
const rounds = 4

/** The Compose files of a stack, as they are on the server now. */
export async function readFilesOf(
  { workingDir, configFiles, project }: ComposeLabels,
  files: ServerFiles,
  readFor: ReadFor,
): Promise<FilesOfStack> {
  const folder = workingDir ?? (configFiles[0] ? posix.dirname(configFiles[0]) : null)
  if (folder === null || configFiles.length === 0) return { state: 'missing', file: null, warnings: [] }
  const { abort } = readFor
  try {
    const texts = await Promise.all(configFiles.map((path) => textOf(files, path, abort)))
    const dotEnv = await textOrNull(files, posix.join(folder, '.env'), abort)
    const stack: StackFiles = {
      workingDir: folder,
      files: configFiles.map((path, at) => ({ path, text: texts[at] as string })),
      dotEnv,
      others: {},
    }
    return await readWithOthers(stack, project, files, readFor)
  } catch (error) {
    if (error instanceof FileUnreadable)
      return {
        state: error.errorKind === 'missing' ? 'missing' : 'unreadable',
        file: null,
        warnings: [`${project}: ${error.message}`],
      }
    if (error instanceof Error && error.name === 'FolderLimitExceeded')
      return { state: 'unreadable', file: null, warnings: [`${project}: the Compose files are too large to read`] }
    throw error
  }
}

/** Reads the files that the stack refers to, then those that they refer to, for a few rounds. */
async function readWithOthers(stack: StackFiles, project: string, files: ServerFiles, { readStack, ...readFor }: ReadFor) {
  for (let round = 0; ; round += 1) {
    const { file, wanted } = await readStack(stack, readFor)
    const remaining = maxOtherFiles - Object.keys(stack.others).length
    if (wanted.length === 0 || round === rounds || remaining <= 0) return toFilesOfStack(file, project)
    for (const path of wanted.slice(0, remaining)) stack.others[path] = await textOrNull(files, path, readFor.abort)
  }
}

function toFilesOfStack(file: ComposeFile, project: string): FilesOfStack {
  const isUnreadable = file.services.length === 0 && file.refused.length > 0
  const messages = [...file.refused, ...file.warnings]
    .slice(0, 20)
    .map(({ path, message }) => [project, path, message].filter(Boolean).join(': '))
  return { state: isUnreadable ? 'unreadable' : 'read', file: isUnreadable ? null : file, warnings: messages }
}

/** Paths where a read may block forever. Any image can name one in a label. */
const notOnDisk = /^\/(proc|sys|dev)(\/|$)/

/** Reads one file with its own timeout: a file that cannot be read must not hide the rest of the server. */
async function textOf(files: ServerFiles, path: string, abort: AbortSignal): Promise<string> {
  if (notOnDisk.test(posix.normalize(path))) throw new FileUnreadable('not_a_file', `${path} is not a regular file`)
  const timeout = AbortSignal.timeout(fileMs)
  try {
    return (await files.read(path, maxFileLength, AbortSignal.any([abort, timeout]))).toString('utf8')
  } catch (error) {
    if (!timeout.aborted || abort.aborted) throw error
    throw new FileUnreadable('not_a_file', `reading ${path} timed out after ${fileMs / 1000} s`)
  }
}

async function textOrNull(files: ServerFiles, path: string, abort: AbortSignal): Promise<string | null> {
  try {
    return await textOf(files, path, abort)
  } catch (error) {
    if (error instanceof FileUnreadable) return null
    throw error
  }
}
