import type { UlimitName } from '@berth/contract'

/** A problem in a Compose file; `path` is dotted: `services.web.volumes.0`. */
export interface Problem {
  path: string
  message: string
}

export interface ComposeFile {
  name: string | null
  /** Services without the refused settings, so that running them could not reach outside the project. */
  services: ComposeService[]
  volumes: ComposeVolume[]
  networks: ComposeNetwork[]
  /** Required variables (`${NAME:?why}`) that are not set. */
  missing: MissingVariable[]
  /** Differences that do not change the running program, such as a name on the host. */
  warnings: Problem[]
  /**
   * Settings that prevent the file from being run: they would reach outside the project, or the result would differ from the file.
   */
  refused: Problem[]
}

export interface ComposeService {
  name: string
  image: string | null
  build: ComposeBuild | null
  command: ComposeCommand | null
  entrypoint: ComposeCommand | null
  environment: Record<string, string>
  /** Variables that any field of the service references. */
  variables: string[]
  envFiles: ComposeEnvFile[]
  ports: ComposePort[]
  expose: { target: number; protocol: ComposeProtocol }[]
  volumes: ComposeMount[]
  dependsOn: ComposeDependency[]
  healthcheck: ComposeHealthcheck | null
  restart: ComposeRestart | null
  cpuCores: number | null
  memoryMb: number | null
  pidsLimit: number | null
  /** 0: Compose starts none. */
  replicas: number | null
  /** Empty: the default network. */
  networks: { name: string; aliases: string[] }[]
  /** `none`: no network; `bridge`: a network without service names. */
  networkMode: 'none' | 'bridge' | null
  containerName: string | null
  /** Other names under which this service reaches another one. */
  linkAliases: { service: string; alias: string }[]
  /** Services whose mounts this service also gets. */
  volumesFrom: { service: string; readOnly: boolean }[]
  /** Files whose content is in the Compose file or in a variable. */
  files: ComposeInlineFile[]
  /** Host files for the time zone. */
  timeFiles: string[]
  labels: Record<string, string>
  /** Compose starts a service with profiles only when one of them is enabled. */
  profiles: string[]
  user: string | null
  workingDir: string | null
  hostname: string | null
  stopGraceSeconds: number | null
  stopSignal: string | null
  init: boolean
  tty: boolean
  stdinOpen: boolean
  groups: string[]
  dns: string[]
  dnsSearch: string[]
  dnsOptions: string[]
  domainname: string | null
  platform: string | null
  memoryReservationMb: number | null
  cpuPeriod: number | null
  cpuQuota: number | null
  readOnly: boolean
  shmMb: number | null
  /** Extra host entries; network aliases are in `networks`. */
  extraHosts: { name: string; address: string }[]
  ulimits: { name: UlimitName; soft: number; hard: number }[]
  sysctls: Record<string, string>
  capDrop: string[]
  capAdd: string[]
  noNewPrivileges: boolean
}

export interface ComposeInlineFile {
  path: string
  content: string
  mode: number
  uid: number
  gid: number
}

/** Build settings. Every path of the model is relative to the project's root and stays below it. */
export interface ComposeBuild {
  context: string
  dockerfile: string | null
  dockerfileInline: string | null
  args: Record<string, string>
  target: string | null
}

/** Compose splits a `shell` line into words by shell quoting; it does not run a shell. */
export type ComposeCommand = { kind: 'exec'; argv: string[] } | { kind: 'shell'; line: string }

export interface ComposeEnvFile {
  path: string
  required: boolean
}

export type ComposeProtocol = 'tcp' | 'udp' | 'sctp'

export interface ComposePort {
  hostIp: string | null
  /** `null`: any free host port. */
  published: number | null
  target: number
  protocol: ComposeProtocol
}

export interface ComposeMount {
  type: 'volume' | 'bind' | 'tmpfs'
  /** A volume's name (`null`: anonymous), a bind's path in the project, `null` for a tmpfs. */
  source: string | null
  target: string
  readOnly: boolean
  /** Set only for a tmpfs. */
  sizeMb?: number
  options?: string[]
}

export interface ComposeDependency {
  service: string
  condition: 'service_started' | 'service_healthy' | 'service_completed_successfully'
  required: boolean
}

export interface ComposeHealthcheck {
  /** `none` disables the image's own check; `null` keeps the image's test. */
  test: ComposeCommand | { kind: 'none' } | null
  intervalSeconds: number | null
  timeoutSeconds: number | null
  startPeriodSeconds: number | null
  startIntervalSeconds: number | null
  retries: number | null
}

export interface ComposeRestart {
  policy: 'no' | 'always' | 'on-failure' | 'unless-stopped'
  maxRetries: number | null
}

export interface ComposeVolume {
  name: string
  /** The volume name on the host that the file requests. It may belong to another project: never mount it unchecked. */
  hostName: string | null
  external: boolean
  labels: Record<string, string>
}

export interface ComposeNetwork {
  name: string
  hostName: string | null
  external: boolean
  internal: boolean
}

export interface MissingVariable {
  path: string
  variable: string
  message: string
}
