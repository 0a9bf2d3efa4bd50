import { familiarName } from '../../drivers/registry/image-name.ts'
import type { ReadContainer, ReadImage } from '../../drivers/runtime/server/server-reader.ts'
import { splitWords } from '../../source/compose/command-words.ts'
import type { ComposeCommand, ComposeService } from '../../source/compose/index.ts'
import { pairsOf } from './own-env.ts'

/**
 * Fields in which a container differs from its file: the file was changed since, or the container was created with other
 * variables.
 */
export function driftOf(service: ComposeService, container: ReadContainer, image: ReadImage | undefined): string[] {
  return Object.entries(comparisons)
    .filter(([, differs]) => differs(service, container, image))
    .map(([field]) => field)
}

type Differs = (service: ComposeService, container: ReadContainer, image: ReadImage | undefined) => boolean

/** Compares only fields that the file sets; an unset field is not drift. */
const comparisons: Record<string, Differs> = {
  image: (service, container) => service.image !== null && familiarName(service.image) !== familiarName(container.image),
  command: (service, container) => isOther(argvOf(service.command), container.command),
  entrypoint: (service, container) => isOther(argvOf(service.entrypoint), container.entrypoint),
  environment: ({ environment }, { env }) => {
    const has = pairsOf(env)
    return Object.entries(environment).some(([key, value]) => has.get(key) !== value)
  },
  ports: ({ ports }, container) => {
    const published = container.ports.filter(({ hostPort }) => hostPort !== null)
    const has = new Set(published.map(({ hostPort, containerPort, protocol }) => `${hostPort}:${containerPort}/${protocol}`))
    const wanted = ports
      .filter((port) => port.published !== null)
      .map((port) => `${port.published}:${port.target}/${port.protocol}`)
    return wanted.some((port) => !has.has(port)) || (ports.length === 0 && published.length > 0)
  },
  volumes: ({ volumes }, { mounts }) => {
    const has = new Map(mounts.map((mount) => [mount.target, mount]))
    return volumes.some(({ target, type, readOnly, source }) => {
      const mount = has.get(target)
      if (!mount) return type !== 'tmpfs'
      return mount.type !== type || mount.readOnly !== readOnly || (type === 'bind' && mount.source !== `/${source}`)
    })
  },
  restart: ({ restart }, container) => restart !== null && restart.policy !== container.restart,
  memory: ({ memoryMb }, { limits }) => memoryMb !== null && Math.round(limits.memoryBytes / 1024 ** 2) !== memoryMb,
  cpus: ({ cpuCores }, { limits }) => cpuCores !== null && Math.abs(limits.nanoCpus / 1e9 - cpuCores) > 0.001,
  user: ({ user }, container) => user !== null && user !== container.user,
}

function argvOf(command: ComposeCommand | null): string[] | null {
  if (command === null) return null
  return command.kind === 'exec' ? command.argv : splitWords(command.line)
}

const isOther = (wanted: string[] | null, has: string[] | null) =>
  wanted !== null && JSON.stringify(wanted) !== JSON.stringify(has ?? [])
