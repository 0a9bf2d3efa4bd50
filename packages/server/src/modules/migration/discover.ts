import type { ReadContainer, ReadDocker, ServerReader } from '../../drivers/runtime/server/server-reader.ts'
import { type ComposeMarks, composeMarks } from './compose-labels.ts'
import { type FilesOfStack, type ReadFor, readFilesOf } from './stack-files.ts'

/** A running Compose stack, and its files as they are now. */
export interface DiscoveredStack {
  marks: ComposeMarks
  containers: ReadContainer[]
  files: FilesOfStack
}

export interface Discovery {
  docker: ReadDocker
  stacks: Map<string, DiscoveredStack>
  /** Containers that were not created by Compose. */
  handRun: ReadContainer[]
}

/** Number of stacks whose files are read concurrently. */
const atOnce = 4

/** Reads the server once: its containers, then their Compose files. Nothing on the server changes. */
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

/** Containers of one stack may have been created from different files; those of a service are preferred over a one-off run. */
const newest = (marks: ComposeMarks[]): ComposeMarks =>
  marks.find(({ isOneOff, configFiles }) => !isOneOff && configFiles.length > 0) ?? (marks[0] as ComposeMarks)
