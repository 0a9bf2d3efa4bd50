import type { ReadContainer } from '../../drivers/runtime/server/server-reader.ts'
import { refuse } from '../../platform/failure.ts'
import { locationsOf, whyNotAdoptable } from './adoptable.ts'
import { type ComposeLabels, readComposeLabels } from './compose-labels.ts'
import type { Discovery } from './discover.ts'
import { plainText } from './plain-text.ts'

export interface Chosen {
  container: ReadContainer
  labels: ComposeLabels | null
  /** Other containers of the same scaled service. */
  replicas: ReadContainer[]
}

/**
 * Finds the services that a caller named: `name` (a Compose service or a container without Compose), `stack/name` or
 * `container:name`. A container of a Compose service stands for that service with all its replicas. The error for a name that
 * is unknown, ambiguous or not adoptable repeats the name.
 */
export function chooseServices(
  names: readonly string[],
  { docker }: Discovery,
  adoptedBy: ReadonlyMap<string, string>,
): Chosen[] {
  const all = docker.containers.map(candidateOf)
  const paths = locationsOf(docker)
  const chosen = names.map((requested, index) => {
    const found = matches(requested, all)
    const field = `serviceNames.${index}`
    const requestedText = plainText(requested)
    if (found.length === 0) return refuse(field, `service ${requestedText} does not exist on the server`)
    const exactNames = [...new Set(found.map(({ exactName }) => exactName))]
    if (exactNames.length > 1)
      return refuse(field, `${requestedText} is ambiguous: name it as ${exactNames.map(plainText).join(' or ')}`)
    // The first of several replicas defines the service.
    const [first, ...others] = found.sort(byNumber) as [Candidate, ...Candidate[]]
    for (const { container } of found) {
      const reason = whyNotAdoptable(container, { adoptedBy: adoptedBy.get(container.id), paths })
      if (reason) return refuse(field, `${requestedText} cannot be adopted: ${reason}`)
    }
    return { container: first.container, labels: first.labels, replicas: others.map(({ container }) => container) }
  })
  return [...new Map(chosen.map((one) => [one.container.id, one])).values()]
}

interface Candidate {
  container: ReadContainer
  labels: ComposeLabels | null
  /** Unique name of the service: `stack/name`, or `container:name` for a container outside a stack. */
  exactName: string
}

function candidateOf(container: ReadContainer): Candidate {
  const labels = readComposeLabels(container)
  const isService = labels !== null && !labels.isOneOff
  return { container, labels, exactName: isService ? `${labels.project}/${labels.service}` : `container:${container.name}` }
}

const byNumber = (one: Candidate, other: Candidate) => (one.labels?.number ?? 1) - (other.labels?.number ?? 1)

function matches(requested: string, all: readonly Candidate[]): Candidate[] {
  const exact = all.filter(({ exactName }) => exactName === requested)
  if (exact.length > 0) return exact
  const byName = all.filter(
    ({ container, labels }) => (labels && !labels.isOneOff ? labels.service : container.name) === requested,
  )
  if (byName.length > 0) return byName
  // A container of a Compose service, with or without the prefix.
  const containerName = requested.startsWith('container:') ? requested.slice('container:'.length) : requested
  const owner = all.find(({ container }) => container.name === containerName)
  return owner ? all.filter(({ exactName }) => exactName === owner.exactName) : []
}
