import { posix } from 'node:path'
import type { ReadContainer, ReadDocker } from '../../drivers/runtime/server/server-reader.ts'
import { composeMarks, isOurs } from './compose-labels.ts'
import { plainText } from './plain-text.ts'

export interface AdoptionFacts {
  /** The project here that it was adopted into. */
  adoptedBy: string | undefined
  /** Volumes that are a place of the server under another name, and which place. */
  places?: ReadonlyMap<string, string>
  /** False: the caller is no operator of the instance, and adopts no container that mounts a part of the server's system. */
  isOperator?: boolean
}

/** A volume may be made of a folder or a disk of the server (`device`): then that is what a container sees. */
export const placesOf = ({ volumes }: Pick<ReadDocker, 'volumes'>): ReadonlyMap<string, string> =>
  new Map(volumes.flatMap(({ name, options }) => (options.device?.startsWith('/') ? [[name, options.device] as const] : [])))

/** As a whole; a file such as /etc/localtime or a folder such as /home/shop/data says nothing of the rest. */
const systemFolders = new Set(
  '/ /bin /boot /etc /home /lib /lib64 /mnt /opt /root /run /sbin /srv /usr /var /var/lib /var/run /etc/ssh /root/.ssh'.split(
    ' ',
  ),
)
/** With everything in them. */
const systemTrees = /^\/(proc|sys|dev|var\/lib\/(docker|containerd)|run\/(docker|containerd))(\/|$)/

const isOfTheSystem = (path: string): boolean => {
  const plain = posix.normalize(path).replace(/(?!^)\/+$/, '')
  return systemFolders.has(plain) || systemTrees.test(plain)
}

/** Parts of a server's system. A project that writes there (`/etc/cron.d`) rules the server, and one that reads there has its secrets. */
const systemParts = [
  /^\/(etc|root|boot|bin|sbin|lib|lib32|lib64|libx32|usr|run|snap)\//,
  /^\/var\/(run|spool|log|cache|backups|lib\/(systemd|dpkg|rpm|apt|cloud|sudo|kubelet|lxc|lxd|snapd|polkit-1|NetworkManager))(\/|$)/,
  // Of a user: keys, logins, and the files that a shell runs.
  /\/\.(ssh|gnupg|kube|docker|aws|azure|config|local|berth|bashrc|bash_profile|profile|zshrc|netrc)(\/|$)/,
]
/** Files that say nothing of the server but its time zone. */
const harmless = new Set(['/etc/localtime', '/etc/timezone'])

/** Places of the server's system that a container mounts, by a bind or by a volume that is another name for one. */
export function systemPlacesOf({ mounts }: Pick<ReadContainer, 'mounts'>, places?: ReadonlyMap<string, string>): string[] {
  const mounted = mounts.flatMap(({ type, source, readOnly }) => {
    const place = type === 'volume' ? places?.get(source ?? '') : type === 'bind' ? source : null
    return place ? [{ place: posix.normalize(place), readOnly }] : []
  })
  const found = mounted.filter(
    ({ place, readOnly }) => !(readOnly && harmless.has(place)) && systemParts.some((part) => part.test(place)),
  )
  return [...new Set(found.map(({ place }) => place))]
}

type Rule = (container: ReadContainer, facts: AdoptionFacts) => string | false | undefined

/** Why it stays as it is, the first reason that holds. What could not be run the same way here is not taken over in part. */
const rules: Rule[] = [
  (container) => isOurs(container) && 'It was started by Berth and belongs to a project already',
  (_, { adoptedBy }) => adoptedBy && `It was adopted already, into the project ${adoptedBy}`,
  (container) => composeMarks(container)?.isOneOff && 'It is a single run of a command (docker compose run), not a service',
  ({ state }) => state === 'removing' && 'It is being removed',
  ({ removedAtEnd }) =>
    removedAtEnd &&
    'It was started with --rm: once stopped it could not be given back, and volumes without a name would go with it. Start it without --rm, then scan again',
  ({ rights }) => rights.privileged && 'It runs privileged, which is as much as being root on the server; Berth runs nothing so',
  ({ networkMode }) =>
    networkMode === 'host' && 'It uses the network of the server itself, and Berth gives each project one of its own',
  ({ networkMode }) => networkMode.startsWith('container:') && 'It lives in the network of another container',
  ({ rights }) =>
    rights.pidMode !== '' && rights.pidMode !== 'private' && 'It sees the processes of the server or of another container',
  ({ rights }) => rights.devices.length > 0 && 'It uses devices of the server',
  ({ mounts }) =>
    mounts.some(
      ({ type, source }) => type === 'bind' && source !== null && /(^|\/)(docker|containerd|podman)\.sock$/.test(source),
    ) && 'It holds the socket of the engine, which is as much as being root on the server',
  ({ mounts }, { places }) =>
    mounts.some(({ type, source }) => {
      const place = type === 'volume' ? places?.get(source ?? '') : source
      return (type === 'bind' || type === 'volume') && typeof place === 'string' && isOfTheSystem(place)
    }) && 'It mounts a folder of the system: whoever may change the project would read or change the server itself',
  (container, { places, isOperator = true }) => {
    const mounted = isOperator ? [] : systemPlacesOf(container, places)
    return mounted.length > 0 && operatorsOnly(mounted)
  },
]

/** The reason, which names the places. */
export const operatorsOnly = (places: readonly string[]): string =>
  `It mounts ${places.map(plainText).join(', ')} of the server's system: only an operator of this instance may adopt it`

export function whyNotAdoptable(container: ReadContainer, facts: AdoptionFacts): string | null {
  for (const rule of rules) {
    const reason = rule(container, facts)
    if (reason) return reason
  }
  return null
}
