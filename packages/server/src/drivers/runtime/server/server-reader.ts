import type { ServerFiles } from '../../shell/ssh/server-files.ts'

/**
 * Reads a server and changes nothing on it: its Docker in one pass, its files over SFTP. Everything that it hands out was
 * said by the server and may be anything: names with control characters, options, metacharacters, any length within the
 * bounds. Nothing here is ever run, and nothing may be run by who uses it.
 *
 * Rejects with `ServerAway` (drivers/shell/ssh/server-away.ts) when the server or its Docker cannot be used; its `reason`
 * tells the cases apart and its message is meant for people. A single container, image or file that cannot be read is no
 * such failure: it is a line in `warnings`, or a `FileUnreadable` of that file.
 */
export interface ServerReader {
  /** Whether its Docker answers. */
  ping(abort: AbortSignal): Promise<{ version: string }>
  /**
   * All containers, running or not, with the volumes, the networks and the images of the containers. One list and then each
   * container and image by itself, sixteen at a time; at most 2,000 containers, 256 KB of each (4 MB of a list), 8 MB and 60 s in all. It is no
   * snapshot: a container that is removed meanwhile is left out.
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
  /** By `imageId` of the containers. One that could not be read is left out. */
  images: Map<string, ReadImage>
  warnings: string[]
}

export interface ReadContainer {
  id: string
  /** Without the slash before it. */
  name: string
  /** As it was asked for, such as `postgres:16`. */
  image: string
  /** `sha256:…` of what really runs. */
  imageId: string
  /** `created running paused restarting removing exited dead`. */
  state: string
  health: string | null
  createdAt: string
  /** `KEY=value`, the image's own included. */
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
  /** By the network's name: the names under which it is found there. */
  networks: Record<string, string[]>
  /** `bridge`, `host`, `none`, `container:…` or a network's name. */
  networkMode: string
  healthCheck: ReadHealthCheck | null
  /** 0: no limit. */
  limits: { memoryBytes: number; nanoCpus: number; pids: number }
  /** What it may do beyond an ordinary container, as far as it was asked for. */
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
  /** The engine removes it when it ends, and with it the volumes that have no name of their own. */
  removedAtEnd: boolean
  /** What it was given besides, each in a few words. */
  unusual: string[]
}

export interface ReadPort {
  containerPort: number
  protocol: string
  /** null: exposed and not published. */
  hostPort: number | null
  hostIp: string | null
}

export interface ReadMount {
  /** `volume bind tmpfs`. */
  type: string
  /** The volume's name, or the path on the server; null for tmpfs. */
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
