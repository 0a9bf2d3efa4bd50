import type { ReadContainer, ReadDocker, ServerReader } from '../../drivers/runtime/server/server-reader.ts'
import { type ComposeLabels, readComposeLabels } from './compose-labels.ts'
import { type FilesOfStack, type ReadFor, readFilesOf } from './stack-files.ts'

/** A running Compose stack, and its files as they are now. */
export interface DiscoveredStack {
  labels: ComposeLabels
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
const maxConcurrent = 4

/** Reads the server once: its containers, then their Compose files. Nothing on the server changes. */
export async function discover(reader: Pick<ServerReader, 'readDocker' | 'files'>, readFor: ReadFor): Promise<Discovery> {
  const docker = await reader.readDocker(readFor.abort)
  const labelled = docker.containers.map((container) => ({ container, labels: readComposeLabels(container) }))
  const groups = [
    ...Map.groupBy(
      labelled.filter(({ labels }) => labels !== null),
      ({ labels }) => (labels as ComposeLabels).project,
    ),
  ]
  const stacks = new Map<string, DiscoveredStack>()
  for (let offset = 0; offset < groups.length; offset += maxConcurrent)
    await Promise.all(
      groups.slice(offset, offset + maxConcurrent).map(async ([project, members]) => {
        const labels = preferredLabels(members.map((one) => one.labels as ComposeLabels))
        const files = await readFilesOf(labels, reader.files, readFor)
        stacks.set(project, { labels, containers: members.map(({ container }) => container), files })
      }),
    )
  return { docker, stacks, handRun: labelled.filter(({ labels }) => labels === null).map(({ container }) => container) }
}

/** The labels that name the stack's files: of a container of a service if possible, since a one-off run may use other files. */
const preferredLabels = (labels: ComposeLabels[]): ComposeLabels =>
  labels.find(({ isOneOff, configFiles }) => !isOneOff && configFiles.length > 0) ?? (labels[0] as ComposeLabels)
