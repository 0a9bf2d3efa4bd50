import type { ReadContainer } from '../../drivers/runtime/server/server-reader.ts'
import { composeMarks, isOurs } from './compose-labels.ts'

export interface AdoptionFacts {
  /** The project here that it was adopted into. */
  adoptedBy: string | undefined
}

type Rule = (container: ReadContainer, facts: AdoptionFacts) => string | false | undefined

/** Why it stays as it is, the first reason that holds. What could not be run the same way here is not taken over in part. */
const rules: Rule[] = [
  (container) => isOurs(container) && 'It was started by Berth and belongs to a project already',
  (_, { adoptedBy }) => adoptedBy && `It was adopted already, into the project ${adoptedBy}`,
  (container) => composeMarks(container)?.isOneOff && 'It is a single run of a command (docker compose run), not a service',
  ({ state }) => state === 'removing' && 'It is being removed',
  ({ rights }) => rights.privileged && 'It runs privileged, which is as much as being root on the server; Berth runs nothing so',
  ({ networkMode }) =>
    networkMode === 'host' && 'It uses the network of the server itself, and Berth gives each project one of its own',
  ({ networkMode }) => networkMode.startsWith('container:') && 'It lives in the network of another container',
  ({ rights }) =>
    rights.pidMode !== '' && rights.pidMode !== 'private' && 'It sees the processes of the server or of another container',
  ({ rights }) => rights.devices.length > 0 && 'It uses devices of the server',
  ({ mounts }) =>
    mounts.some(({ source }) => source !== null && /(^|\/)(docker|containerd|podman)\.sock$/.test(source)) &&
    'It holds the socket of the engine, which is as much as being root on the server',
]

export function whyNotAdoptable(container: ReadContainer, facts: AdoptionFacts): string | null {
  for (const rule of rules) {
    const reason = rule(container, facts)
    if (reason) return reason
  }
  return null
}
