import type { ReadContainer } from '../../drivers/runtime/server/server-reader.ts'
import { refuse } from '../../platform/failure.ts'
import { placesOf, whyNotAdoptable } from './adoptable.ts'
import { type ComposeMarks, composeMarks } from './compose-labels.ts'
import type { Discovery } from './discover.ts'
import { plainText } from './plain-text.ts'

export interface Chosen {
  container: ReadContainer
  marks: ComposeMarks | null
  /** Further containers of the same service, which it was scaled to. */
  replicas: ReadContainer[]
}

/**
 * Finds the services that a caller named: by a service's name, by `stack/service` where two stacks have one of that name, or by
 * a container's name. What is not there, is not clear, or cannot be adopted is named in the refusal.
 */
export function chooseServices(
  names: readonly string[],
  { docker }: Discovery,
  adoptedBy: ReadonlyMap<string, string>,
): Chosen[] {
  const all: Found[] = docker.containers.map((container) => ({ container, marks: composeMarks(container) }))
  const places = placesOf(docker)
  const chosen = names.map((asked, at) => {
    const found = matches(asked, all)
    const field = `serviceNames.${at}`
    const shown = plainText(asked)
    if (found.length === 0) return refuse(field, `there is no service ${shown} on the server`)
    if (new Set(found.map(({ marks }) => marks?.project)).size > 1)
      return refuse(field, `several stacks have a service ${shown}: name it as ${found.map(pathOf).join(' or ')}`)
    // Of several replicas the first one tells what the service is.
    const [first, ...others] = found.sort(byNumber) as [Found, ...Found[]]
    for (const { container } of found) {
      const reason = whyNotAdoptable(container, { adoptedBy: adoptedBy.get(container.id), places })
      if (reason) return refuse(field, `${shown} cannot be adopted: ${reason}`)
    }
    return { ...first, replicas: others.map(({ container }) => container) }
  })
  return [...new Map(chosen.map((one) => [one.container.id, one])).values()]
}

type Found = { container: ReadContainer; marks: ComposeMarks | null }

const byNumber = (one: Found, other: Found) => (one.marks?.number ?? 1) - (other.marks?.number ?? 1)

function matches(asked: string, all: readonly Found[]): Found[] {
  const byService = all.filter(
    ({ marks }) => marks && !marks.isOneOff && (marks.service === asked || `${marks.project}/${marks.service}` === asked),
  )
  return byService.length > 0 ? byService : all.filter(({ container }) => container.name === asked)
}

const pathOf = ({ marks, container }: Found) => plainText(marks ? `${marks.project}/${marks.service}` : container.name)
