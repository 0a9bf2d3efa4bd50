import type { UlimitName } from '@berth/contract'

/** Something said about one place of a Compose file; `path` is dotted: `services.web.volumes.0`. */
export interface Problem {
  path: string
  message: string
}

export interface ComposeFile {
  name: string | null
  /** Holds nothing of what was refused: running it anyway could not reach outside the project. */
  services: ComposeService[]
  volumes: ComposeVolume[]
  networks: ComposeNetwork[]
  /** Variables that the file demands with `${NAME:?why}` and that were not given. */
  missing: MissingVariable[]
  /** Differences that leave what runs as it is, such as a name on the host. */
  warnings: Problem[]
  /** Settings that keep the file from being run: they would reach outside the project, or what runs would not be what the file says. */
  refused: Problem[]
}

export interface ComposeService {
  name: string
  image: string | null
  build: ComposeBuild | null
  command: ComposeCommand | null
  entrypoint: ComposeCommand | null
  environment: Record<string, string>
  /** Variables that the service refers to, wherever in it. */
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
  /** `none`: no network at all; `bridge`: one where no service has a name. */
  networkMode: 'none' | 'bridge' | null
  containerName: string | null
  /** Other names that this service knows a service by. */
  linkAliases: { service: string; alias: string }[]
  /** Services whose mounts it has as well. */
  volumesFrom: { service: string; readOnly: boolean }[]
  /** Files whose content is in the file itself or in a variable. */
  files: ComposeInlineFile[]
  /** Files of the machine that tell its time zone. */
  timeFiles: string[]
  labels: Record<string, string>
  /** Compose starts a service that has profiles only when one of them is asked for. */
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
  /** Names that the service is also reached by are with its networks. */
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

/** Every path of the model is relative to the project's root and stays below it. */
export interface ComposeBuild {
  context: string
  dockerfile: string | null
  dockerfileInline: string | null
  args: Record<string, string>
  target: string | null
}

/** Compose splits a `shell` line into words by shell quoting; it does not hand the line to a shell. */
export type ComposeCommand = { kind: 'exec'; argv: string[] } | { kind: 'shell'; line: string }

export interface ComposeEnvFile {
  path: string
  required: boolean
}

export type ComposeProtocol = 'tcp' | 'udp' | 'sctp'

export interface ComposePort {
  hostIp: string | null
  /** `null`: any free port of the host. */
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
  /** Only a tmpfs has these. */
  sizeMb?: number
  options?: string[]
}

export interface ComposeDependency {
  service: string
  condition: 'service_started' | 'service_healthy' | 'service_completed_successfully'
  required: boolean
}

export interface ComposeHealthcheck {
  /** `none` switches the image's own check off; `null` keeps the image's test. */
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
  /** The name on the host that the file asks for. It may belong to somebody else: never mount by it unchecked. */
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
