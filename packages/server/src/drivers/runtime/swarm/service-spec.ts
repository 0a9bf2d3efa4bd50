import type { ContainerCreateOptions, ServiceSpec } from 'dockerode'
import { StartFailed } from '../runtime-errors.ts'

export interface SecretFile {
  id: string
  name: string
  path: string
  uid: number
  gid: number
  mode: number
}

export interface ServiceParts {
  /** Settings that the Docker runtime gives a container. */
  settings: ContainerCreateOptions
  /** The whole command line. */
  argv: readonly string[]
  /** Variables in the specification, where every manager of the swarm can read them. */
  variables: readonly string[]
  healthcheck: ContainerCreateOptions['Healthcheck']
  secrets: readonly SecretFile[]
  network: string
  nodeId: string
  labels: Record<string, string>
}

/** Container settings that a service of a swarm cannot have, with their names in a Compose file. */
const unsupported: [keyof ContainerCreateOptions, string][] = [['Domainname', 'domainname']]

/**
 * Specification of the service of an instance: one task that Swarm does not restart by itself, because Swarm cannot change the
 * restart policy of a running task. `ServiceRestarts` restarts it.
 */
export function serviceSpec(parts: ServiceParts): ServiceSpec {
  const { settings, labels, network, nodeId } = parts
  for (const [key, name] of unsupported)
    if (settings[key]) throw new StartFailed(`A service of a swarm cannot have the setting ${name}. Remove it.`)
  const host = settings.HostConfig ?? {}
  const [port] = Object.keys(settings.ExposedPorts ?? {})
  return {
    Name: settings.name ?? '',
    Labels: labels,
    TaskTemplate: {
      ContainerSpec: { ...containerSpec(parts), Mounts: mountsOf(settings) },
      Resources: {
        Limits: { NanoCPUs: host.NanoCpus ?? 0, MemoryBytes: host.Memory ?? 0, Pids: host.PidsLimit ?? 0 },
        Reservations: { MemoryBytes: host.MemoryReservation ?? 0 },
      },
      RestartPolicy: { Condition: 'none', Delay: 0, MaxAttempts: 0 },
      Placement: { Constraints: [`node.id==${nodeId}`] },
      Networks: [{ Target: network }],
      LogDriver: { Name: host.LogConfig?.Type ?? 'json-file', Options: host.LogConfig?.Config ?? {} },
      ForceUpdate: 0,
    },
    Mode: { Replicated: { Replicas: 1 } },
    UpdateConfig: { Parallelism: 1, Order: 'stop-first', FailureAction: 'continue' },
    EndpointSpec: {
      Mode: 'dnsrr',
      // Without PublishedPort the engine chooses a free port, and none that was used recently.
      ...(port ? { Ports: [{ Protocol: 'tcp', TargetPort: Number.parseInt(port, 10), PublishMode: 'host' }] } : {}),
    },
  } as unknown as ServiceSpec
}

function containerSpec({ settings, argv, variables, healthcheck, secrets }: ServiceParts) {
  const host = settings.HostConfig ?? {}
  const [program = '', ...args] = argv
  return {
    Image: settings.Image,
    Labels: settings.Labels,
    Command: [program],
    Args: args,
    Env: variables.map(literal),
    ...(settings.User ? { User: settings.User } : {}),
    ...(settings.WorkingDir ? { Dir: settings.WorkingDir } : {}),
    ...(settings.Hostname ? { Hostname: settings.Hostname } : {}),
    ...(settings.StopSignal ? { StopSignal: settings.StopSignal } : {}),
    ...(settings.StopTimeout === undefined ? {} : { StopGracePeriod: settings.StopTimeout * 1e9 }),
    ...(settings.Tty ? { TTY: true } : {}),
    ...(settings.OpenStdin ? { OpenStdin: true } : {}),
    ...(healthcheck ? { HealthCheck: healthcheck } : {}),
    ...(host.ReadonlyRootfs ? { ReadOnly: true } : {}),
    ...(host.GroupAdd ? { Groups: host.GroupAdd } : {}),
    ...(host.ExtraHosts ? { Hosts: host.ExtraHosts.map(hostEntry) } : {}),
    ...(host.Sysctls ? { Sysctls: host.Sysctls } : {}),
    ...(host.Ulimits ? { Ulimits: host.Ulimits } : {}),
    DNSConfig: { Nameservers: host.Dns ?? [], Search: host.DnsSearch ?? [], Options: host.DnsOptions ?? [] },
    Init: host.Init ?? true,
    // Engines before 25 have no such setting, and ignore it.
    Privileges: { NoNewPrivileges: true },
    CapabilityDrop: host.CapDrop,
    CapabilityAdd: host.CapAdd,
    Secrets: secrets.map(({ id, name, path, uid, gid, mode }) => ({
      SecretID: id,
      SecretName: name,
      File: { Name: path, UID: String(uid), GID: String(gid), Mode: mode },
    })),
  }
}

/**
 * Swarm executes the values of variables and the paths of mounts as Go templates, in the engine and without a limit of time: a project
 * must not write one.
 */
const literal = (text: string) => text.replaceAll('{{', '{{"{{"}}')

/** `name:address` as Swarm writes it: address first. */
const hostEntry = (entry: string) => {
  const end = entry.indexOf(':')
  return `${entry.slice(end + 1)} ${entry.slice(0, end)}`
}

/** Mounts of a service. Swarm has no setting for shared memory and tmpfs: both are mounts. */
function mountsOf({ HostConfig: { Mounts = [], ShmSize, Tmpfs = {} } = {} }: ContainerCreateOptions) {
  const sizes = Object.entries(Tmpfs as Record<string, string>).map(([target, options]) => ({
    target,
    options: options.split(','),
  }))
  for (const { target, options } of sizes)
    if (options.some((option) => !option.startsWith('size=')))
      throw new StartFailed(`A service of a swarm cannot have options on its tmpfs at ${target}. Remove them.`)
  return [
    ...Mounts.map((mount) => ({ ...mount, Target: literal(mount.Target) })),
    ...(ShmSize ? [tmpfsMount('/dev/shm', ShmSize)] : []),
    ...sizes.map(({ target, options }) => tmpfsMount(target, megabytesIn(options) * 1024 ** 2)),
  ]
}

const megabytesIn = (options: readonly string[]) => Number.parseInt(options.at(-1)?.slice('size='.length) ?? '', 10)
const tmpfsMount = (target: string, SizeBytes: number) => ({
  Type: 'tmpfs' as const,
  Target: literal(target),
  TmpfsOptions: { SizeBytes },
})
