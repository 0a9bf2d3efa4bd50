import { existsSync, lstatSync, readdirSync, readlinkSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isBelow } from '../../mount-path.ts'

/** Root of a project's folders inside the sandbox. It is fixed, so that built paths stay valid when the data folder is moved. */
export const insideRoot = '/run/berth'
export const insideNode = `${insideRoot}/bin`

const roots = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/nix/store']
/** Entries of /etc that programs need for name resolution, certificates, libraries and tools. */
const etcEntries =
  /^(resolv\.conf|hosts|hostname|host\.conf|gai\.conf|nsswitch\.conf|passwd|group|services|protocols|ld\.so\..*|ssl|pki|ca-certificates.*|alternatives|localtime|timezone|locale\.(conf|alias)|mime\.types|magic|os-release|debian_version|fonts|java.*|php.*|python3.*|perl|ruby.*|dotnet|npmrc|gitconfig|pip\.conf|crypto-policies)$/

export interface MountedFolder {
  path: string
  at: string
  readOnly?: boolean
  /** Variable that tells the project the path. */
  variable?: string
  /** The requested path of a volume. It differs from `at` if the sandbox cannot mount folders. */
  mountPath?: string
  /** A second path of the folder: a symlink to `at`. */
  alias?: string
}

/** Mounts of a file system that starts empty. Parent folders get mode 0755, because the project's user does not own them. */
export class View {
  readonly #createdFolders: Set<string>
  readonly args: string[]

  constructor(base?: View) {
    this.#createdFolders = new Set(base ? base.#createdFolders : ['/', ...roots])
    this.args = base ? [...base.args] : []
  }

  add(option: '--bind' | '--ro-bind' | '--ro-bind-try', path: string, at: string): this {
    this.#createParentsOf(at)
    this.args.push(option, path, at)
    return this
  }

  addLink(target: string, at: string): this {
    this.#createParentsOf(at)
    this.args.push('--symlink', target, at)
    return this
  }

  #createParentsOf(at: string): void {
    const parent = dirname(at)
    if (this.#createdFolders.has(parent) || isBelow(roots, parent)) return
    this.#createParentsOf(parent)
    this.args.push('--perms', '0755', '--dir', parent)
    this.#createdFolders.add(parent)
  }
}

/**
 * The machine as every project sees it: programs and libraries, read-only. `hidden` is covered by an empty folder if it lies
 * below one of them.
 */
export function machineView(environment: Readonly<Record<string, string | undefined>>, hidden: string): View {
  const view = new View()
  for (const root of roots) {
    const stat = lstatSync(root, { throwIfNoEntry: false })
    if (stat?.isSymbolicLink()) view.args.push('--symlink', readlinkSync(root), root)
    else if (stat?.isDirectory()) view.add('--ro-bind', root, root)
  }
  for (const name of readdirSync('/etc').filter((one) => etcEntries.test(one))) mountEtcEntry(view, join('/etc', name))
  const tools = toolFolders(environment)
  for (const folder of tools) view.add('--ro-bind-try', folder, folder)
  if (isBelow([...roots, ...tools], hidden)) view.args.push('--tmpfs', hidden)
  for (const file of certificates(environment)) view.add('--ro-bind-try', file, file)
  view.add('--ro-bind-try', '/sys/devices/system/cpu', '/sys/devices/system/cpu')
  view.args.push('--proc', '/proc', '--dev', '/dev', '--perms', '1777', '--tmpfs', '/dev/shm')
  return view
}

/** Paths that the sandbox fills itself. A volume must not be at, below or above one of them. */
export const reservedPaths = (environment: Readonly<Record<string, string | undefined>>): string[] => [
  ...roots,
  '/nix',
  '/etc',
  '/proc',
  '/dev',
  '/sys',
  '/tmp',
  insideRoot,
  ...toolFolders(environment),
]

/** Mounts the target of a link such as resolv.conf in its place: the target may lie outside of the sandbox. */
function mountEtcEntry(view: View, path: string): void {
  try {
    view.add('--ro-bind-try', realpathSync(path), path)
  } catch {
    // A dangling link.
  }
}

/** Folders of tools below /opt, and of Node's tools where a version manager keeps them in a home directory. */
function toolFolders(environment: Readonly<Record<string, string | undefined>>): string[] {
  return (environment.PATH ?? '').split(':').flatMap((folder) => {
    const optFolder = /^\/opt\/[^/]+(?=\/)/.exec(folder)?.[0]
    if (optFolder) return existsSync(optFolder) ? [optFolder] : []
    const modules = join(dirname(folder), 'lib', 'node_modules')
    const hasNodeTools = folder.startsWith('/') && existsSync(join(folder, 'npm')) && existsSync(join(modules, 'npm'))
    return hasNodeTools && !isBelow(roots, folder) ? [folder, modules] : []
  })
}

const certificateVariables =
  /^((NIX_)?SSL_CERT_(FILE|DIR)|CURL_CA_BUNDLE|GIT_SSL_CA(INFO|PATH)|NODE_EXTRA_CA_CERTS|REQUESTS_CA_BUNDLE|PIP_CERT)$/

const certificates = (environment: Readonly<Record<string, string | undefined>>) =>
  Object.entries(environment).flatMap(([name, value]) =>
    certificateVariables.test(name) && value?.startsWith('/') ? [value] : [],
  )

/** Folders of a search path that exist inside the sandbox. */
export function visibleIn(environment: Readonly<Record<string, string | undefined>>, path: string): string {
  const tools = toolFolders(environment)
  return path
    .split(':')
    .filter((folder) => isBelow(roots, folder) || isBelow(tools, folder))
    .join(':')
}
