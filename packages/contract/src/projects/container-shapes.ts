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
  sysctl: '^[\\d ]{1,40}$',
} as const

/** The most of each limit that a container is given. */
export const mostOfUlimit = { nofile: 1_048_576, nproc: 65_536, core: 0, stack: 67_108_864, memlock: 67_108_864 } as const
export type UlimitName = keyof typeof mostOfUlimit

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

/** Nobody waits longer for a project to end. */
export const longestStopSeconds = 300

const matching = (pattern: string) => Type.String({ pattern })
const some = <T extends Parameters<typeof Type.Array>[0]>(item: T) => nullable(Type.Array(item, { maxItems: 100 }))

interface Ulimit {
  name: UlimitName
  soft: number
  hard: number
}
const Ulimit = Type.Unsafe<Ulimit>({
  anyOf: Object.entries(mostOfUlimit).map(([name, maximum]) =>
    Type.Object({
      name: Type.Unsafe<string>({ type: 'string', enum: [name] }),
      soft: Type.Integer({ minimum: 0, maximum }),
      hard: Type.Integer({ minimum: 0, maximum }),
    }),
  ),
})

const Sysctls = Type.Unsafe<Record<string, string>>(
  Type.Object(Object.fromEntries(harmlessSysctls.map((name) => [name, Type.Optional(matching(containerPatterns.sysctl))])), {
    additionalProperties: false,
  }),
)

const ExtraHost = Type.Object({
  name: matching(containerPatterns.hostOfAddress),
  address: matching(`^(?!${containerPatterns.withheldAddress.slice(1)})${containerPatterns.address.slice(1)}`),
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
    aliases: some(matching(containerPatterns.hostname)),
    tmpfs: some(
      Type.Object({ target: matching(containerPatterns.path), sizeMb: Type.Optional(nullable(Type.Number({ minimum: 0 }))) }),
    ),
    extraHosts: some(ExtraHost),
    ulimits: some(Ulimit),
    sysctls: nullable(Sysctls),
  }),
)
export type ContainerSettings = Static<typeof ContainerSettings>
