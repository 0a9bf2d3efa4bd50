import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync } from 'node:fs'
import { lchown, readdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Owner } from '../../runtime.ts'
import type { ProcessUser } from '../sandbox/sandbox.ts'
import { hashOf, ProjectUsers } from './project-users.ts'

const traversableFolders = ['instances', 'artifacts', 'volumes', 'homes', 'bin', 'tools'] as const
/** Folders that no project user can enter: data being written, data being removed, and the assigned user ids. */
const privateFolders = ['staging', 'trash', 'users'] as const
type Kind = (typeof traversableFolders)[number] | (typeof privateFolders)[number]

/** Paths of the process runtime's files. Ids are checked, so none of them can lead out of the folder. */
export class Paths {
  readonly root: string
  /** Projects run as their own users. Only root can do that. */
  readonly hasOwnUsers: boolean

  readonly #users: ProjectUsers
  #hasCreatedFolders = false

  constructor(root: string, hasOwnUsers: boolean) {
    this.root = root
    this.hasOwnUsers = hasOwnUsers
    this.#users = new ProjectUsers(this.of('users'), this.of('homes'))
  }

  /** Creates the folders before their first use. An installation that runs no projects creates none. */
  createFolders(): void {
    if (this.#hasCreatedFolders) return
    // Project users can pass through to their own folder, but cannot list the folders on the way.
    const traversableMode = this.hasOwnUsers ? 0o711 : 0o700
    makeFolder(this.root, traversableMode)
    for (const kind of traversableFolders) makeFolder(this.of(kind), traversableMode)
    for (const kind of privateFolders) makeFolder(this.of(kind), 0o700)
    this.#hasCreatedFolders = true
  }

  /** Names of the entries. */
  list(kind: Kind): string[] {
    return existsSync(this.of(kind)) ? readdirSync(this.of(kind)) : []
  }

  of(kind: Kind): string {
    return join(this.root, kind)
  }

  instance = (id: string) => join(this.of('instances'), validId(id))
  artifact = (deploymentId: string, service: string) =>
    join(this.of('artifacts'), validId(service ? `${deploymentId}.${service}` : deploymentId))
  /** File in which a build, or an instance, records its process. */
  buildProcessFile = (artifact: string) => join(artifact, 'build.process')
  instanceProcessFile = (id: string) => join(this.instance(id), 'process')
  tool = (name: string) => join(this.of('tools'), validId(name))
  volume = (id: string) => join(this.of('volumes'), validId(id))
  staging = (id: string) => join(this.of('staging'), validId(id))

  /** Folder of an artifact, even if the data folder has moved since the build. Null if the path is not an artifact's. */
  artifactOf(reference: string): string | null {
    const folder = basename(reference) === 'static' ? dirname(reference) : reference
    return basename(dirname(folder)) === 'artifacts' ? join(this.of('artifacts'), validId(basename(folder))) : null
  }

  /**
   * Home directory of a deployment. Package manager caches of production are kept between builds. Every other environment has
   * a home per deployment, removed with it: a preview, perhaps of a fork, must not place files that production's next build reads.
   */
  home({ projectId, environment }: Owner, artifact: string): string {
    const isPersistent = environment === 'production'
    return this.createOwned(isPersistent ? join(this.of('homes'), validId(projectId)) : join(artifact, 'home'), projectId)
  }

  /** Creates a folder that only the project can access. */
  createOwned(folder: string, projectId: string): string {
    if (existsSync(folder)) return folder
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const user = this.userOf(projectId)
    if (user !== null) chownSync(folder, user, user)
    return folder
  }

  /** User id of the project. Null where projects have no users of their own. */
  userOf(projectId: string): number | null {
    return this.hasOwnUsers ? this.#users.userIdOf(projectId) : null
  }

  /** `task` is the build or instance that runs. */
  processUserOf(projectId: string, task: string, artifact: string): ProcessUser | null {
    const uid = this.userOf(projectId)
    if (uid === null) return null
    return { uid, gid: this.groupIdOf(task), artifactGid: idFromName(0x30000000, basename(artifact)) }
  }

  /** Group id of all processes of a build or an instance. A process cannot drop it. */
  groupIdOf = (task: string) => idFromName(0x20000000, task)

  /** Lets only processes with the artifact's own group into it. */
  restrictArtifact(folder: string): void {
    if (this.hasOwnUsers) chownSync(folder, 0, idFromName(0x30000000, basename(folder)))
    chmodSync(folder, this.hasOwnUsers ? 0o710 : 0o700)
  }
}

const idFromName = (from: number, name: string) => from + hashOf(name)

function makeFolder(folder: string, mode: number): void {
  mkdirSync(folder, { recursive: true })
  chmodSync(folder, mode)
}

function validId(name: string): string {
  if (!/^[A-Za-z0-9][A-Za-z0-9_.-]*$/.test(name)) throw new Error(`${JSON.stringify(name.slice(0, 60))} is not a valid id`)
  return name
}

/** Changes the owner of a whole folder, contents first: until the last step no other user can write to any of it. */
export async function changeOwner(folder: string | Buffer, uid: number): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true, encoding: 'buffer' })) {
    const path = Buffer.concat([Buffer.from(folder), Buffer.from('/'), entry.name])
    if (entry.isDirectory()) await changeOwner(path, uid)
    else await lchown(path, uid, uid)
  }
  await lchown(folder, uid, uid)
}
