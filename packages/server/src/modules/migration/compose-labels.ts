import type { ReadContainer } from '../../drivers/runtime/server/server-reader.ts'

/** Labels that Compose sets on its containers. */
const label = {
  project: 'com.docker.compose.project',
  service: 'com.docker.compose.service',
  workingDir: 'com.docker.compose.project.working_dir',
  configFiles: 'com.docker.compose.project.config_files',
  oneOff: 'com.docker.compose.oneoff',
  dependsOn: 'com.docker.compose.depends_on',
  number: 'com.docker.compose.container-number',
} as const

const maxFiles = 10

export interface ComposeLabels {
  project: string
  service: string
  workingDir: string | null
  configFiles: string[]
  isOneOff: boolean
  dependsOn: string[]
  number: number
}

/** null: the container was not created by Compose. */
export function readComposeLabels({ labels }: Pick<ReadContainer, 'labels'>): ComposeLabels | null {
  const [project, service] = [labels[label.project], labels[label.service]]
  if (!project || !service) return null
  return {
    project,
    service,
    workingDir: absolute(labels[label.workingDir]),
    configFiles: (labels[label.configFiles] ?? '').split(',').filter(isAbsolute).slice(0, maxFiles),
    isOneOff: labels[label.oneOff]?.toLowerCase() === 'true',
    dependsOn: (labels[label.dependsOn] ?? '')
      .split(',')
      .map((part) => part.split(':')[0] as string)
      .filter(Boolean),
    number: Number(labels[label.number]) || 1,
  }
}

const isAbsolute = (path: string) => path.startsWith('/') && !path.includes('\0')
const absolute = (path: string | undefined) => (path && isAbsolute(path) ? path : null)

/** Whether a Berth instance, this or another one, started the container. */
export const isOurs = ({ labels }: Pick<ReadContainer, 'labels'>): boolean => labels['berth.instance'] !== undefined
