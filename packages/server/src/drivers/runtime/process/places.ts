import { createHash } from 'node:crypto'
import { chmodSync, chownSync, copyFileSync, existsSync, linkSync, mkdirSync, readdirSync, renameSync, statSync } from 'node:fs'
import { lchown, lstat, readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'

const kinds = ['instances', 'artifacts', 'volumes', 'homes', 'bin'] as const
type Kind = (typeof kinds)[number]

/** Where the process runtime keeps what it makes. Ids are ours, so that none of them can lead out of the folder. */
export class Places {
  readonly root: string
  /** Where projects run as users of their own; only root can do that. */
  readonly hasOwnUsers: boolean

  #isMade = false

  constructor(root: string, hasOwnUsers: boolean) {
    this.root = root
    this.hasOwnUsers = hasOwnUsers
  }

  /** Before the first thing is put there; an instance that runs nothing leaves nothing. */
  make(): void {
    if (this.#isMade) return
    // Others may pass through to their own folder, and see nothing on the way.
    for (const folder of [this.root, ...kinds.map((kind) => this.of(kind))]) {
      mkdirSync(folder, { recursive: true })
      chmodSync(folder, 0o711)
    }
    this.#isMade = true
  }

  /** Names of what is there. */
  list(kind: Kind): string[] {
    return existsSync(this.of(kind)) ? readdirSync(this.of(kind)) : []
  }

  of(kind: Kind): string {
    return join(this.root, kind)
  }

  instance = (id: string) => join(this.of('instances'), checked(id))
  artifact = (deploymentId: string, service: string) =>
    join(this.of('artifacts'), checked(service ? `${deploymentId}.${service}` : deploymentId))
  /** Where a build, or an instance, writes down which process it is. */
  buildNote = (artifact: string) => join(artifact, 'build.process')
  instanceNote = (id: string) => join(this.instance(id), 'process')
  volume = (id: string) => join(this.of('volumes'), checked(id))

  /** Caches of package managers live on between builds of a project. */
  home(projectId: string): string {
    const folder = join(this.of('homes'), checked(projectId))
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const uid = this.userOf(projectId)
    if (uid !== null) chownSync(folder, uid, uid)
    return folder
  }

  /** A number that belongs to the project alone; no such user needs to exist on the machine. */
  userOf(projectId: string): number | null {
    if (!this.hasOwnUsers) return null
    return 0x10000000 + (createHash('sha256').update(projectId).digest().readUInt32BE(0) & 0x0fffffff)
  }

  /** The folders of a search path that the project's user may look into: root's own programs are not for it. */
  searchPath(path: string): string {
    return this.hasOwnUsers ? path.split(':').filter(isOpenToAll).join(':') : path
  }

  /** A folder with the Node that Berth runs on, reachable for users who may not look into ours. */
  nodeFolder(): string {
    if (!this.hasOwnUsers) return dirname(process.execPath)
    const node = join(this.of('bin'), `node-${process.version}`, 'node')
    if (existsSync(node)) return dirname(node)
    mkdirSync(dirname(node), { recursive: true })
    const draft = `${node}.${process.pid}`
    try {
      linkSync(process.execPath, draft)
    } catch {
      copyFileSync(process.execPath, draft)
    }
    chmodSync(draft, 0o755)
    renameSync(draft, node)
    return dirname(node)
  }
}

function isOpenToAll(folder: string): boolean {
  for (let place = folder; ; place = dirname(place)) {
    const mode = statSync(place, { throwIfNoEntry: false })?.mode
    if (mode === undefined || (mode & 0o001) === 0) return false
    if (place === dirname(place)) return true
  }
}

function checked(name: string): string {
  if (!/^[A-Za-z0-9][A-Za-z0-9_.-]*$/.test(name)) throw new Error(`${JSON.stringify(name.slice(0, 60))} is not an id`)
  return name
}

/** Hands a whole folder to a user; links themselves, never what they point at. */
export async function giveTo(folder: string, uid: number): Promise<void> {
  await lchown(folder, uid, uid)
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) await giveTo(path, uid)
    else await lchown(path, uid, uid)
  }
}

export async function folderSizeBytes(folder: string): Promise<number> {
  let sum = 0
  for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) sum += await folderSizeBytes(path)
    else sum += (await lstat(path).catch(() => ({ size: 0 }))).size
  }
  return sum
}
