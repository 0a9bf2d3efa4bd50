import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync } from 'node:fs'
import { lchown, readdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Owner } from '../../runtime.ts'
import type { Who } from '../sandbox/sandbox.ts'
import { hashOf, ProjectUsers } from './project-users.ts'

const open = ['instances', 'artifacts', 'volumes', 'homes', 'bin', 'tools'] as const
/** Where no project's user ever comes: what is being filled, what is being removed, and whose which number is. */
const closed = ['staging', 'trash', 'users'] as const
type Kind = (typeof open)[number] | (typeof closed)[number]

/** Where the process runtime keeps what it makes. Ids are ours, so that none of them can lead out of the folder. */
export class Places {
  readonly root: string
  /** Where projects run as users of their own; only root can do that. */
  readonly hasOwnUsers: boolean

  readonly #users: ProjectUsers
  #isMade = false

  constructor(root: string, hasOwnUsers: boolean) {
    this.root = root
    this.hasOwnUsers = hasOwnUsers
    this.#users = new ProjectUsers(this.of('users'), this.of('homes'))
  }

  /** Before the first thing is put there; an instance that runs nothing leaves nothing. */
  make(): void {
    if (this.#isMade) return
    // Others may pass through to their own folder, and see nothing on the way.
    const passable = this.hasOwnUsers ? 0o711 : 0o700
    makeFolder(this.root, passable)
    for (const kind of open) makeFolder(this.of(kind), passable)
    for (const kind of closed) makeFolder(this.of(kind), 0o700)
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
  tool = (name: string) => join(this.of('tools'), checked(name))
  volume = (id: string) => join(this.of('volumes'), checked(id))
  staging = (id: string) => join(this.of('staging'), checked(id))

  /** The folder of an artifact, wherever the data folder was when it was built; null when it is not one of ours. */
  artifactOf(reference: string): string | null {
    const folder = basename(reference) === 'static' ? dirname(reference) : reference
    return basename(dirname(folder)) === 'artifacts' ? join(this.of('artifacts'), checked(basename(folder))) : null
  }

  /**
   * Caches of package managers live on between builds of production. Every other deployment has a home of its own, which goes
   * with it: what a preview leaves there, a fork's perhaps, must not be what production's next build reads.
   */
  home({ projectId, environment }: Owner, artifact: string): string {
    const isKept = environment === 'production'
    return this.own(isKept ? join(this.of('homes'), checked(projectId)) : join(artifact, 'home'), projectId)
  }

  /** A folder for a project alone. */
  own(folder: string, projectId: string): string {
    if (existsSync(folder)) return folder
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const user = this.userOf(projectId)
    if (user !== null) chownSync(folder, user, user)
    return folder
  }

  /** The project's own user; null where projects have none. */
  userOf(projectId: string): number | null {
    return this.hasOwnUsers ? this.#users.of(projectId) : null
  }

  /** `task`: the build or instance that it is for. */
  who(projectId: string, task: string, artifact: string): Who | null {
    const uid = this.userOf(projectId)
    if (uid === null) return null
    return { uid, gid: this.mark(task), artifactGid: numberOf(0x30000000, basename(artifact)) }
  }

  /** Whatever a build or an instance started carries this group, and can get rid of it in no way. */
  mark = (task: string) => numberOf(0x20000000, task)

  /** Only who runs with the artifact's own group comes to what is in it. */
  closeArtifact(folder: string): void {
    if (this.hasOwnUsers) chownSync(folder, 0, numberOf(0x30000000, basename(folder)))
    chmodSync(folder, this.hasOwnUsers ? 0o710 : 0o700)
  }
}

const numberOf = (from: number, name: string) => from + hashOf(name)

function makeFolder(folder: string, mode: number): void {
  mkdirSync(folder, { recursive: true })
  chmodSync(folder, mode)
}

function checked(name: string): string {
  if (!/^[A-Za-z0-9][A-Za-z0-9_.-]*$/.test(name)) throw new Error(`${JSON.stringify(name.slice(0, 60))} is not an id`)
  return name
}

/** Hands a whole folder to a user, what is inside first: until the last step nobody else can write to any of it. */
export async function giveTo(folder: string | Buffer, uid: number): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true, encoding: 'buffer' })) {
    const path = Buffer.concat([Buffer.from(folder), Buffer.from('/'), entry.name])
    if (entry.isDirectory()) await giveTo(path, uid)
    else await lchown(path, uid, uid)
  }
  await lchown(folder, uid, uid)
}
