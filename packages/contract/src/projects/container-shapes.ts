import { type Static, Type } from 'typebox'
import { nullable } from '../shape.ts'

/** Patterns of container settings, for the Compose file and for the API. */
export const containerPatterns = {
  user: '^[a-zA-Z0-9_][\\w.-]{0,62}(:[a-zA-Z0-9_][\\w.-]{0,62})?$',
  path: '^/[^\\u0000-\\u001f]{0,299}$',
  hostname: '^[a-zA-Z0-9]([a-zA-Z0-9.-]{0,61}[a-zA-Z0-9])?$',
  /** A host name in `extra_hosts`. */
  hostOfAddress: '^[a-zA-Z0-9]([a-zA-Z0-9.-]{0,251}[a-zA-Z0-9])?$',
  address: '^[0-9a-fA-F:.]{2,45}$',
  /** Loopback addresses, and link-local ones that only the machine's own network answers: `extra_hosts` must not name them. */
  withheldAddress: '^(?:127\\.|0\\.|169\\.254\\.|::1$|::$|[fF][eE][89aAbB][0-9a-fA-F]:|::[fF]{4}:)',
  stopSignal: '^((SIG)?[A-Z0-9+]{1,12}|\\d{1,2})$',
  capability: '^[A-Z_]{1,40}$',
  group: '^[a-zA-Z0-9_][\\w.-]{0,62}$',
  /** A network of the project, by its name in the Compose file. */
  network: '^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,62}$',
  /** An alias of a service on a network. */
  alias: '^[a-zA-Z0-9_]([a-zA-Z0-9_.-]{0,61}[a-zA-Z0-9_])?$',
  platform: '^[a-z0-9]+/[a-z0-9_]+(/[a-z0-9]+)?$',
  dnsOption: '^[a-z0-9-]{1,40}(:\\d{1,5})?$',
  /** Mount options of a tmpfs, as in mount(8); its size is a separate field. */
  tmpfsOption: '^(rw|ro|exec|noexec|nosuid|nodev|(mode|uid|gid|nr_inodes)=[0-9]{1,10})$',
  sysctl: '^[\\d ]{1,40}$',
  /** Only 1 (off): with its own IPv6 address the container would bypass the egress filter, which covers only IPv4. */
  sysctlOfIpv6: '^1$',
} as const

/** The maximum of each limit. Locked memory counts as the container's memory, so it may be unlimited (-1). */
export const maxUlimit = {
  nofile: 1_048_576,
  nproc: 65_536,
  core: 0,
  stack: 67_108_864,
  memlock: Number.MAX_SAFE_INTEGER,
} as const
export type UlimitName = keyof typeof maxUlimit

/** Files of the machine that a container may read: the time zone. */
export const timeFiles = ['/etc/localtime', '/etc/timezone'] as const

/** Capabilities that Docker grants by default and Berth only on request: none of them reaches outside the container. */
export const addableCapabilities = ['AUDIT_WRITE', 'SETFCAP', 'SETPCAP', 'SYS_CHROOT'] as const

/** Settings of the container's own network namespace, which affect no other container's connections. */
export const harmlessSysctls = [
  'net.core.somaxconn',
  'net.ipv4.ip_unprivileged_port_start',
  'net.ipv4.ip_local_port_range',
  'net.ipv4.tcp_fin_timeout',
  'net.ipv4.tcp_keepalive_intvl',
  'net.ipv4.tcp_keepalive_probes',
  'net.ipv4.tcp_keepalive_time',
  'net.ipv4.tcp_max_syn_backlog',
  'net.ipv4.tcp_syncookies',
  'net.ipv4.tcp_tw_reuse',
  'net.ipv6.conf.all.disable_ipv6',
  'net.ipv6.conf.default.disable_ipv6',
] as const

/** The accepted values of a setting in `harmlessSysctls`. */
export const sysctlPattern = (name: string): string =>
  name.startsWith('net.ipv6.') ? containerPatterns.sysctlOfIpv6 : containerPatterns.sysctl

/** Maximum processes and threads of one container. */
export const maxProcesses = 1024

/** Maximum time to wait for a project to stop. */
export const maxStopSeconds = 300

const matching = (pattern: string) => Type.String({ pattern })
const some = <T extends Parameters<typeof Type.Array>[0]>(item: T) => nullable(Type.Array(item, { maxItems: 100 }))

/** -1 means unlimited in Docker. */
export const minUlimitOf = (name: string) => (name === 'memlock' ? -1 : 0)

interface Ulimit {
  name: UlimitName
  soft: number
  hard: number
}
const Ulimit = Type.Unsafe<Ulimit>({
  anyOf: Object.entries(maxUlimit).map(([name, maximum]) =>
    Type.Object({
      name: Type.Unsafe<string>({ type: 'string', enum: [name] }),
      soft: Type.Integer({ minimum: minUlimitOf(name), maximum }),
      hard: Type.Integer({ minimum: minUlimitOf(name), maximum }),
    }),
  ),
})

const Sysctls = Type.Unsafe<Record<string, string>>(
  Type.Object(Object.fromEntries(harmlessSysctls.map((name) => [name, Type.Optional(matching(sysctlPattern(name)))])), {
    additionalProperties: false,
  }),
)

/** An address that is not the machine's own: a project must not reach the machine it runs on. */
const reachableAddress = `^(?!${containerPatterns.withheldAddress.slice(1)})${containerPatterns.address.slice(1)}`

const ExtraHost = Type.Object({
  name: matching(containerPatterns.hostOfAddress),
  address: matching(reachableAddress),
})

/** Settings of a service's container that override its image. */
export const ContainerSettings = Type.Partial(
  Type.Object({
    user: nullable(matching(containerPatterns.user)),
    workingDir: nullable(matching(containerPatterns.path)),
    hostname: nullable(matching(containerPatterns.hostname)),
    stopSignal: nullable(matching(containerPatterns.stopSignal)),
    stopGraceSeconds: nullable(Type.Integer({ minimum: 0, maximum: maxStopSeconds })),
    shmMb: nullable(Type.Integer({ minimum: 1, maximum: 65536 })),
    pidsLimit: nullable(Type.Integer({ minimum: 1, maximum: 4_194_304 })),
    readOnly: nullable(Type.Boolean()),
    capDrop: some(matching(containerPatterns.capability)),
    capAdd: some(Type.Unsafe<(typeof addableCapabilities)[number]>({ type: 'string', enum: [...addableCapabilities] })),
    aliases: some(matching(containerPatterns.alias)),
    networks: some(
      Type.Object({
        name: matching(containerPatterns.network),
        aliases: Type.Optional(Type.Array(matching(containerPatterns.alias), { maxItems: 100 })),
        internal: Type.Optional(Type.Boolean()),
      }),
    ),
    groups: some(matching(containerPatterns.group)),
    dns: some(matching(reachableAddress)),
    dnsSearch: some(matching(containerPatterns.hostOfAddress)),
    dnsOptions: some(matching(containerPatterns.dnsOption)),
    domainname: nullable(matching(containerPatterns.hostOfAddress)),
    init: nullable(Type.Boolean()),
    tty: nullable(Type.Boolean()),
    stdinOpen: nullable(Type.Boolean()),
    platform: nullable(matching(containerPatterns.platform)),
    memoryReservationMb: nullable(Type.Integer({ minimum: 6, maximum: 65536 })),
    tmpfs: some(
      Type.Object({
        target: matching(containerPatterns.path),
        sizeMb: Type.Optional(nullable(Type.Number({ minimum: 0 }))),
        options: Type.Optional(Type.Array(matching(containerPatterns.tmpfsOption), { maxItems: 20 })),
      }),
    ),
    timeFiles: some(Type.Unsafe<(typeof timeFiles)[number]>({ type: 'string', enum: [...timeFiles] })),
    extraHosts: some(ExtraHost),
    ulimits: some(Ulimit),
    sysctls: nullable(Sysctls),
  }),
)
export type ContainerSettings = Static<typeof ContainerSettings>
