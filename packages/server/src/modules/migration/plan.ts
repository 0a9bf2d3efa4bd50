import type { Adoption } from './adoption.ts'
import { plainText } from './plain-text.ts'

type Part = Adoption['parts'][number]
const volumesOf = ({ adopted }: Part) => (adopted.service.volumes ?? []).map(({ source }) => source as string)
const namesOf = ({ named }: Part) => [named.container, ...named.replicas].map(({ name }) => plainText(name))
const listed = (kind: string, names: readonly string[]) => `${kind}${names.length === 1 ? '' : 's'} ${names.join(', ')}`

export const onFailure = 'if a step fails, the new containers are stopped and the old ones are started again'

/** Whether the service writes to a volume: two containers must not write to it at the same time. */
export const holdsVolume = ({ adopted }: Part): boolean => (adopted.service.volumes ?? []).some(({ readOnly }) => !readOnly)

/** The steps of the first deployment on the server, in order. */
export function planOfAdoption({ parts }: Adoption): string[] {
  const writers = parts.filter(holdsVolume)
  const others = parts.filter((part) => !holdsVolume(part))
  return [
    'Create the network of the project',
    ...writers.flatMap((part) => [
      `Stop the ${listed('container', namesOf(part))}: the ${listed('volume', volumesOf(part))} must have only one writer at a time`,
      `Start ${part.named.name} (${part.adopted.service.image}) with the same data, and wait until it is healthy`,
    ]),
    ...others.map(
      (part) =>
        `Start ${part.named.name} (${part.adopted.service.image}) beside the ${listed('container', namesOf(part))}, and wait until it is healthy`,
    ),
    'Switch the route of the project to the new containers',
    ...(others.length > 0 ? [`Stop and keep the ${listed('container', others.flatMap(namesOf))}`] : []),
  ]
}
