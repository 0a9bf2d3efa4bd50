import { type Static, Type } from 'typebox'
import { nullable } from '../shape.ts'

/** What a container may be told about itself. A Compose file and the API are held to the same. */
export const containerPatterns = {
  user: '^[a-zA-Z0-9_][\\w.-]{0,62}(:[a-zA-Z0-9_][\\w.-]{0,62})?$',
  path: '^/[^\\u0000-\\u001f]{0,299}$',
  hostname: '^[a-zA-Z0-9]([a-zA-Z0-9.-]{0,61}[a-zA-Z0-9])?$',
  /** A name that it knows an address by. */
  hostOfAddress: '^[a-zA-Z0-9]([a-zA-Z0-9.-]{0,251}[a-zA-Z0-9])?$',
  address: '^[0-9a-fA-F:.]{2,45}$',
  /** The container itself, and what only the machine's own network answers: no name leads there. */
  withheldAddress: '^(?:127\\.|0\\.|169\\.254\\.|::1$|::$|[fF][eE][89aAbB][0-9a-fA-F]:|::[fF]{4}:)',
  stopSignal: '^((SIG)?[A-Z0-9+]{1,12}|\\d{1,2})$',
  capability: '^[A-Z_]{1,40}$',
  group: '^[a-zA-Z0-9_][\\w.-]{0,62}$',
  /** A network of the project, by its name in the Compose file. */
  network: '^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,62}$',
  /** A name that a service has on a network. */
  alias: '^[a-zA-Z0-9_]([a-zA-Z0-9_.-]{0,61}[a-zA-Z0-9_])?$',
  platform: '^[a-z0-9]+/[a-z0-9_]+(/[a-z0-9]+)?$',
  dnsOption: '^[a-z0-9-]{1,40}(:\\d{1,5})?$',
  /** Options of mount(8) for a tmpfs; its size is a field of its own. */
  tmpfsOption: '^(rw|ro|exec|noexec|nosuid|nodev|(mode|uid|gid|nr_inodes)=[0-9]{1,10})$',
  sysctl: '^[\\d ]{1,40}$',
  /** Only off: an address of its own would lead to the machine past the egress filter, which is for IPv4. */
  sysctlOfIpv6: '^1$',
} as const

/** The most of each limit that a container is given. Locked memory counts as the container's memory, so it may be unlimited (-1). */
export const mostOfUlimit = {
  nofile: 1_048_576,
  nproc: 65_536,
  core: 0,
  stack: 67_108_864,
  memlock: Number.MAX_SAFE_INTEGER,
} as const
export type UlimitName = keyof typeof mostOfUlimit

/** Files of the machine that a container may read: its time zone. */
export const timeFiles = ['/etc/localtime', '/etc/timezone'] as const

/** Rights that Docker gives a container by itself and Berth only on request: none of them reaches outside of it. */
export const addableCapabilities = ['AUDIT_WRITE', 'SETFCAP', 'SETPCAP', 'SYS_CHROOT'] as const

/** Settings of the container's own network namespace: nobody else's connections feel them. */
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

/** What a setting of `harmlessSysctls` may be set to. */
export const sysctlPattern = (name: string): string =>
  name.startsWith('net.ipv6.') ? containerPatterns.sysctlOfIpv6 : containerPatterns.sysctl

/** Processes and threads of one container. */
export const mostProcesses = 1024

/** Nobody waits longer for a project to end. */
export const longestStopSeconds = 300

const matching = (pattern: string) => Type.String({ pattern })
const some = <T extends Parameters<typeof Type.Array>[0]>(item: T) => nullable(Type.Array(item, { maxItems: 100 }))

/** -1 is Docker's word for unlimited. */
export const leastOfUlimit = (name: string) => (name === 'memlock' ? -1 : 0)

interface Ulimit {
  name: UlimitName
  soft: number
  hard: number
}
const Ulimit = Type.Unsafe<Ulimit>({
  anyOf: Object.entries(mostOfUlimit).map(([name, maximum]) =>
    Type.Object({
      name: Type.Unsafe<string>({ type: 'string', enum: [name] }),
      soft: Type.Integer({ minimum: leastOfUlimit(name), maximum }),
      hard: Type.Integer({ minimum: leastOfUlimit(name), maximum }),
    }),
  ),
})

const Sysctls = Type.Unsafe<Record<string, string>>(
  Type.Object(Object.fromEntries(harmlessSysctls.map((name) => [name, Type.Optional(matching(sysctlPattern(name)))])), {
    additionalProperties: false,
  }),
)

/** An address that is not the machine's own: a project does not reach the machine it runs on. */
const reachableAddress = `^(?!${containerPatterns.withheldAddress.slice(1)})${containerPatterns.address.slice(1)}`

const ExtraHost = Type.Object({
  name: matching(containerPatterns.hostOfAddress),
  address: matching(reachableAddress),
})

/** How a service's container is set up, beyond what its image says. */
export const ContainerSettings = Type.Partial(
  Type.Object({
    user: nullable(matching(containerPatterns.user)),
    workingDir: nullable(matching(containerPatterns.path)),
    hostname: nullable(matching(containerPatterns.hostname)),
    stopSignal: nullable(matching(containerPatterns.stopSignal)),
    stopGraceSeconds: nullable(Type.Integer({ minimum: 0, maximum: longestStopSeconds })),
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
