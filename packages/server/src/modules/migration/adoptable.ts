import { posix } from 'node:path'
import type { ReadContainer, ReadDocker } from '../../drivers/runtime/server/server-reader.ts'
import { isOurs, readComposeLabels } from './compose-labels.ts'
import { plainText } from './plain-text.ts'

export interface AdoptionFacts {
  /** The project of this instance that adopted the container. */
  adoptedBy: string | undefined
  /** Volumes that are backed by a path of the server, and that path. */
  paths?: ReadonlyMap<string, string>
  /**
   * False: the caller is not an operator of the instance, and may not adopt a container that mounts a part of the server's
   * system.
   */
  isOperator?: boolean
}

/** Volumes backed by a folder or disk of the server (`device`), which a container then sees. */
export const locationsOf = ({ volumes }: Pick<ReadDocker, 'volumes'>): ReadonlyMap<string, string> =>
  new Map(volumes.flatMap(({ name, options }) => (options.device?.startsWith('/') ? [[name, options.device] as const] : [])))

/**
 * Folders that are refused when mounted as a whole; a file such as /etc/localtime or a folder such as /home/shop/data is
 * allowed.
 */
const systemFolders = new Set(
  '/ /bin /boot /etc /home /lib /lib64 /mnt /opt /root /run /sbin /srv /usr /var /var/lib /var/run /etc/ssh /root/.ssh'.split(
    ' ',
  ),
)
/** Folders that are refused with everything below them. */
const systemTrees = /^\/(proc|sys|dev|var\/lib\/(docker|containerd)|run\/(docker|containerd))(\/|$)/

const isOfTheSystem = (path: string): boolean => {
  const normalized = posix.normalize(path).replace(/(?!^)\/+$/, '')
  return systemFolders.has(normalized) || systemTrees.test(normalized)
}

/**
 * Parts of a server's system. A project that can write there (`/etc/cron.d`) controls the server, and one that can read there
 * has its secrets.
 */
const systemParts = [
  /^\/(etc|root|boot|bin|sbin|lib|lib32|lib64|libx32|usr|run|snap)\//,
  /^\/var\/(run|spool|log|cache|backups|lib\/(systemd|dpkg|rpm|apt|cloud|sudo|kubelet|lxc|lxd|snapd|polkit-1|NetworkManager))(\/|$)/,
  // Files of a user: keys, logins, and files that a shell runs.
  /\/\.(ssh|gnupg|kube|docker|aws|azure|config|local|berth|bashrc|bash_profile|profile|zshrc|netrc)(\/|$)/,
]
/** Files that disclose only the server's time zone. */
const harmless = new Set(['/etc/localtime', '/etc/timezone'])

/** System paths that a container mounts, by a bind mount or by a volume backed by such a path. */
export function systemPathsOf({ mounts }: Pick<ReadContainer, 'mounts'>, paths?: ReadonlyMap<string, string>): string[] {
  const mounted = mounts.flatMap(({ type, source, readOnly }) => {
    const location = type === 'volume' ? paths?.get(source ?? '') : type === 'bind' ? source : null
    return location ? [{ path: posix.normalize(location), readOnly }] : []
  })
  const systemMounts = mounted.filter(
    ({ path, readOnly }) => !(readOnly && harmless.has(path)) && systemParts.some((part) => part.test(path)),
  )
  return [...new Set(systemMounts.map(({ path }) => path))]
}

type Rule = (container: ReadContainer, facts: AdoptionFacts) => string | false | undefined

/**
 * Reasons why a container cannot be adopted; the first that applies is shown. A container that could not run the same way here
 * is not adopted in part.
 */
const rules: Rule[] = [
  (container) => isOurs(container) && 'It was started by Berth and already belongs to a project',
  (_, { adoptedBy }) => adoptedBy && `It was already adopted into project ${adoptedBy}`,
  (container) => readComposeLabels(container)?.isOneOff && 'It is a one-off command (docker compose run), not a service',
  ({ state }) => state === 'removing' && 'It is being removed',
  ({ removedAtEnd }) =>
    removedAtEnd &&
    'It was started with --rm: once stopped, it and its anonymous volumes are deleted. Start it without --rm, then scan again',
  ({ rights }) => rights.privileged && 'It runs privileged, which is equivalent to root on the server. Berth does not support it',
  ({ networkMode }) => networkMode === 'host' && 'It uses the host network. Berth gives each project its own network',
  ({ networkMode }) => networkMode.startsWith('container:') && 'It shares the network of another container',
  ({ rights }) =>
    rights.pidMode !== '' && rights.pidMode !== 'private' && 'It sees the processes of the server or of another container',
  ({ rights }) => rights.devices.length > 0 && 'It uses devices of the server',
  ({ mounts }) =>
    mounts.some(
      ({ type, source }) => type === 'bind' && source !== null && /(^|\/)(docker|containerd|podman)\.sock$/.test(source),
    ) && 'It mounts the Docker socket, which is equivalent to root on the server',
  ({ mounts }, { paths }) =>
    mounts.some(({ type, source }) => {
      const location = type === 'volume' ? paths?.get(source ?? '') : source
      return (type === 'bind' || type === 'volume') && typeof location === 'string' && isOfTheSystem(location)
    }) && 'It mounts a system folder: every user who can change the project could read or change the server',
  (container, { paths, isOperator = true }) => {
    const mounted = isOperator ? [] : systemPathsOf(container, paths)
    return mounted.length > 0 && operatorsOnly(mounted)
  },
]

/** The reason for a caller who is not an operator. It names the paths. */
export const operatorsOnly = (paths: readonly string[]): string =>
  `It mounts ${paths.map(plainText).join(', ')} of the server's system. Only an operator of this instance can adopt it`

export function whyNotAdoptable(container: ReadContainer, facts: AdoptionFacts): string | null {
  for (const rule of rules) {
    const reason = rule(container, facts)
    if (reason) return reason
  }
  return null
}
