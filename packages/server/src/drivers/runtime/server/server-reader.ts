import type { ServerFiles } from '../../shell/ssh/server-files.ts'

/**
 * Reads a server without changing it: its Docker engine in one pass, its files over SFTP. Everything it returns is untrusted
 * input from the server: names may contain control characters, options and shell metacharacters, at any length within the
 * limits. The reader and its callers must never execute any of it.
 *
 * Rejects with `ServerUnreachable` (drivers/shell/ssh/server-unreachable.ts) if the server or its Docker cannot be used. The error's
 * `reason` tells the cases apart, and its message is for users. A single container or image that cannot be read only adds
 * a line to `warnings`; a single file rejects with `FileUnreadable`.
 */
export interface ServerReader {
  /** Checks that the Docker engine responds. */
  ping(abort: AbortSignal): Promise<{ version: string }>
  /**
   * Reads all containers, running or not, with volumes, networks, and the images of the containers. Lists the containers, then
   * reads each container and image, sixteen at a time. Limits: 2,000 containers, 96 KB for each, 1 MB for a list, 4 MB
   * kept and 60 s in all. The result is not a snapshot: a container that is removed meanwhile is left out.
   */
  readDocker(abort: AbortSignal): Promise<ReadDocker>
  /** See `ServerFiles` (drivers/shell/ssh/server-files.ts): `read(path, maxBytes, abort)`, `stat`, `list`. */
  readonly files: ServerFiles
}

export interface ReadDocker {
  version: string
  containers: ReadContainer[]
  volumes: ReadVolume[]
  networks: ReadNetwork[]
  /** Images by the `imageId` of the containers. An image that could not be read is missing. */
  images: Map<string, ReadImage>
  warnings: string[]
}

export interface ReadContainer {
  id: string
  /** Name without Docker's leading slash. */
  name: string
  /** Image name that the container was created with, such as `postgres:16`. */
  image: string
  /** Image id (`sha256:…`) of the container. */
  imageId: string
  /** `created running paused restarting removing exited dead`. */
  state: string
  health: string | null
  createdAt: string
  /** `KEY=value`, including the variables of the image. */
  env: string[]
  command: string[] | null
  entrypoint: string[] | null
  workingDir: string
  user: string
  hostname: string
  labels: Record<string, string>
  /** `no always unless-stopped on-failure`. */
  restart: string
  ports: ReadPort[]
  mounts: ReadMount[]
  /** Aliases of the container, by network name. */
  networks: Record<string, string[]>
  /** `bridge`, `host`, `none`, `container:…` or a network's name. */
  networkMode: string
  healthCheck: ReadHealthCheck | null
  /** 0: no limit. */
  limits: { memoryBytes: number; nanoCpus: number; pids: number }
  /** Permissions beyond those of an ordinary container. */
  rights: {
    privileged: boolean
    capAdd: string[]
    devices: string[]
    securityOptions: string[]
    pidMode: string
    readOnly: boolean
  }
  stopSignal: string
  stopGraceSeconds: number | null
  /** AutoRemove: the engine removes the container and its anonymous volumes when it ends. */
  removedAtEnd: boolean
  /** Further settings, each as a short text. See `unusualSettings`. */
  unusual: string[]
}

export interface ReadPort {
  containerPort: number
  protocol: string
  /** Null: exposed but not published. */
  hostPort: number | null
  hostIp: string | null
}

export interface ReadMount {
  /** `volume bind tmpfs`. */
  type: string
  /** Volume name, or path on the server. Null for tmpfs. */
  source: string | null
  target: string
  readOnly: boolean
}

export interface ReadHealthCheck {
  test: string[]
  intervalSeconds: number | null
  timeoutSeconds: number | null
  retries: number | null
  startPeriodSeconds: number | null
}

export interface ReadVolume {
  name: string
  driver: string
  labels: Record<string, string>
  options: Record<string, string>
}

export interface ReadNetwork {
  name: string
  driver: string
  labels: Record<string, string>
  internal: boolean
}

export interface ReadImage {
  id: string
  tags: string[]
  env: string[]
  command: string[] | null
  entrypoint: string[] | null
  workingDir: string
  user: string
  labels: Record<string, string>
  exposedPorts: string[]
  volumes: string[]
  stopSignal: string
}
