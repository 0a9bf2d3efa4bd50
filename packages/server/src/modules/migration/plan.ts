import type { Adoption } from './adoption.ts'
import { plainText } from './plain-text.ts'

type Part = Adoption['parts'][number]
const volumesOf = ({ adopted }: Part) => (adopted.service.volumes ?? []).map(({ source }) => source as string)

/** Whether the service writes to a volume: two containers must not write to it at the same time. */
export const holdsVolume = ({ adopted }: Part): boolean => (adopted.service.volumes ?? []).some(({ readOnly }) => !readOnly)

/** The steps of the first deployment on the server, in order. */
export function planOfAdoption({ parts }: Adoption): string[] {
  const holds = parts.filter(holdsVolume)
  const others = parts.filter((part) => !holdsVolume(part))
  const nameOf = ({ named }: Part) => plainText([named.container, ...named.replicas].map(({ name }) => name).join(', '))
  return [
    'Create the network of the project',
    ...holds.flatMap((part) => [
      `Stop the container ${nameOf(part)}: its volumes ${volumesOf(part).join(', ')} must have only one writer at a time`,
      `Start ${part.named.name} (${part.adopted.service.image}) with the same data, and wait until it is healthy`,
    ]),
    ...others.map(
      (part) =>
        `Start ${part.named.name} (${part.adopted.service.image}) beside the container ${nameOf(part)}, and wait until it is healthy`,
    ),
    'Switch the route of the project to the new containers',
    ...(others.length > 0 ? [`Stop the containers ${others.map(nameOf).join(', ')}; they are kept`] : []),
    'On failure: stop the new containers and start the old ones again',
  ]
}
