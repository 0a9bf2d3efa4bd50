import type { ReadContainer, ReadDocker, ServerReader } from '../../drivers/runtime/server/server-reader.ts'
import { type ComposeMarks, composeMarks } from './compose-labels.ts'
import { type FilesOfStack, type ReadFor, readFilesOf } from './stack-files.ts'

/** A Compose stack as it runs, and its files as they are now. */
export interface DiscoveredStack {
  marks: ComposeMarks
  containers: ReadContainer[]
  files: FilesOfStack
}

export interface Discovery {
  docker: ReadDocker
  stacks: Map<string, DiscoveredStack>
  /** Those that no Compose made. */
  handRun: ReadContainer[]
}

/** Of stacks whose files are read at the same time. */
const atOnce = 4

/** Reads the server once: what runs, then the files that it was made from. Nothing on the server changes. */
export async function discover(reader: Pick<ServerReader, 'readDocker' | 'files'>, readFor: ReadFor): Promise<Discovery> {
  const docker = await reader.readDocker(readFor.abort)
  const marked = docker.containers.map((container) => ({ container, marks: composeMarks(container) }))
  const groups = [
    ...Map.groupBy(
      marked.filter(({ marks }) => marks !== null),
      ({ marks }) => (marks as ComposeMarks).project,
    ),
  ]
  const stacks = new Map<string, DiscoveredStack>()
  for (let at = 0; at < groups.length; at += atOnce)
    await Promise.all(
      groups.slice(at, at + atOnce).map(async ([project, members]) => {
        const marks = newest(members.map((one) => one.marks as ComposeMarks))
        const files = await readFilesOf(marks, reader.files, readFor)
        stacks.set(project, { marks, containers: members.map(({ container }) => container), files })
      }),
    )
  return { docker, stacks, handRun: marked.filter(({ marks }) => marks === null).map(({ container }) => container) }
}

/** Containers of one stack may have been made from other files; those of a real service tell more than a single run. */
const newest = (marks: ComposeMarks[]): ComposeMarks =>
  marks.find(({ isOneOff, configFiles }) => !isOneOff && configFiles.length > 0) ?? (marks[0] as ComposeMarks)
