import type { ContainerInspectInfo, ImageInspectInfo } from 'dockerode'
import { bytesOf, durationOf, messageOf, pairsOf, type Written, type WrittenFile } from './compose-expected.ts'

export interface Difference {
  service: string
  field: string
  written: string
  runs: string
}

export interface RunningService {
  containers: ContainerInspectInfo[]
  /** The image that the container runs, and the one that the file names. */
  image: ImageInspectInfo
  named: ImageInspectInfo
}

export interface Comparison {
  compared: number
  differences: Difference[]
}

/** Compares all settings of each service in the file with the settings of its containers in the engine. */
export async function differencesOf(
  { services, networks }: WrittenFile,
  running: ReadonlyMap<string, RunningService>,
  isInternal: (network: string) => boolean,
): Promise<Comparison> {
  const differences: Difference[] = []
  let compared = 0
  const same = (service: string, field: string, written: unknown, runs: unknown) => {
    compared++
    const [left, right] = [JSON.stringify(written ?? null), JSON.stringify(runs ?? null)]
    if (left !== right) differences.push({ service, field, written: left, runs: right })
  }
  for (const [name, written] of Object.entries(services)) {
    const found = running.get(name)
    const wanted = Number(written.scale ?? written.deploy?.replicas ?? 1)
    same(name, 'scale', isExcluded(written) ? 0 : wanted, found?.containers.length ?? 0)
    for (const container of found?.containers ?? []) await compareOne(name, written, container, found!, same)
    for (const [other] of Object.entries(dependenciesOf(written))) {
      const [first, last] = [running.get(other), found].map((one) => one?.containers.map(({ State }) => State.StartedAt).sort())
      if (first && last) same(name, `depends_on ${other}`, true, first[0]! <= last[0]!)
    }
  }
  compareNetworks(services, networks, running, isInternal, same)
  compareVolumes(services, running, same)
  return { compared, differences }
}

type Same = (service: string, field: string, written: unknown, runs: unknown) => void

export const isExcluded = ({ profiles }: Written) => (profiles ?? []).length > 0

const dependenciesOf = ({ depends_on: needed = {} }: Written): Record<string, unknown> =>
  Array.isArray(needed) ? Object.fromEntries(needed.map((one) => [one, null])) : needed

async function compareOne(name: string, written: Written, container: ContainerInspectInfo, found: RunningService, same: Same) {
  const { Config, HostConfig } = container
  const layers = (image: ImageInspectInfo) => image.RootFS.Layers ?? []
  const below = layers(found.named)
  same(name, 'image', below, layers(found.image).slice(0, below.length))
  const isOwn = written.entrypoint !== undefined && written.entrypoint !== null
  same(name, 'entrypoint', (await messageOf(written.entrypoint)) ?? found.named.Config.Entrypoint, Config.Entrypoint)
  const command = (await messageOf(written.command)) ?? (isOwn ? null : found.named.Config.Cmd)
  same(name, 'command', command?.length ? command : null, Config.Cmd?.length ? Config.Cmd : null)
  const own = pairsOf(Config.Env)
  const all = { ...pairsOf(found.named.Config.Env), ...pairsOf(written.environment) }
  for (const key of new Set([...Object.keys(all), ...Object.keys(own)])) same(name, `environment ${key}`, all[key], own[key])
  same(name, 'user', String(written.user ?? found.named.Config.User ?? ''), Config.User)
  same(name, 'working_dir', written.working_dir ?? found.named.Config.WorkingDir ?? '', Config.WorkingDir)
  if (written.hostname) same(name, 'hostname', written.hostname, Config.Hostname)
  same(name, 'domainname', written.domainname ?? '', Config.Domainname)
  same(name, 'tty', isOn(written.tty), Config.Tty)
  same(name, 'stdin_open', isOn(written.stdin_open), Config.OpenStdin)
  same(name, 'stop_signal', written.stop_signal ?? null, (Config as { StopSignal?: string }).StopSignal ?? null)
  if (written.stop_grace_period)
    same(name, 'stop_grace_period', durationOf(written.stop_grace_period) / 1e9, (Config as { StopTimeout?: number }).StopTimeout)
  for (const [label, value] of Object.entries(pairsOf(written.labels))) same(name, `labels ${label}`, value, Config.Labels[label])
  same(name, 'init', isOn(written.init), HostConfig.Init ?? false)
  same(name, 'read_only', isOn(written.read_only), HostConfig.ReadonlyRootfs)
  same(name, 'privileged', isOn(written.privileged), HostConfig.Privileged)
  same(name, 'shm_size', written.shm_size ? bytesOf(written.shm_size) : 67_108_864, HostConfig.ShmSize)
  if (written.pids_limit) same(name, 'pids_limit', Number(written.pids_limit), HostConfig.PidsLimit)
  const limits = written.deploy?.resources?.limits ?? {}
  same(name, 'mem_limit', bytesOf(written.mem_limit ?? limits.memory ?? 0), HostConfig.Memory)
  same(name, 'cpus', Number(written.cpus ?? limits.cpus ?? 0) * 1e9, HostConfig.NanoCpus)
  same(name, 'restart', restartOf(written), `${HostConfig.RestartPolicy?.Name}:${HostConfig.RestartPolicy?.MaximumRetryCount}`)
  same(name, 'ulimits', ulimitsOf(written.ulimits), ulimitsIn(HostConfig.Ulimits ?? []))
  same(name, 'sysctls', pairsOf(written.sysctls), HostConfig.Sysctls ?? {})
  same(name, 'dns', [written.dns ?? []].flat(), HostConfig.Dns ?? [])
  same(name, 'extra_hosts', hostsOf(written.extra_hosts), (HostConfig.ExtraHosts ?? []).toSorted())
  same(name, 'group_add', (written.group_add ?? []).map(String), HostConfig.GroupAdd ?? [])
  same(
    name,
    'tmpfs',
    [written.tmpfs ?? []]
      .flat()
      .map((one) => one.split(':')[0])
      .sort(),
    Object.keys(HostConfig.Tmpfs ?? {}).sort(),
  )
  for (const right of written.cap_add ?? []) same(name, `cap_add ${right}`, true, (HostConfig.CapAdd ?? []).includes(right))
  for (const right of written.cap_drop ?? []) same(name, `cap_drop ${right}`, false, (HostConfig.CapAdd ?? []).includes(right))
  for (const option of written.security_opt ?? [])
    same(
      name,
      `security_opt ${option}`,
      true,
      (HostConfig.SecurityOpt ?? []).some((one: string) => one.startsWith(option.split(/[:=]/)[0])),
    )
  compareHealth(name, written, found, container, same)
  const transaction = (HostConfig.PortBindings ?? {}) as Record<string, { HostPort: string }[]>
  for (const port of (written.ports ?? []).map(portOf))
    same(name, `ports ${port.target}`, port.published, transaction[port.target]?.[0]?.HostPort ?? null)
}

const isOn = (value: unknown) => value === true || value === 'true'

function portOf(port: string | Written): { target: string; published: string | null } {
  if (typeof port !== 'string')
    return { target: `${port.target}/${port.protocol ?? 'tcp'}`, published: port.published ? String(port.published) : null }
  const [whole = '', protocol = 'tcp'] = port.split('/')
  const parts = whole.split(':')
  return { target: `${parts.at(-1)}/${protocol}`, published: parts.at(-2) ?? null }
}

function restartOf({ restart, deploy }: Written): string {
  const given = restart ?? deploy?.restart_policy?.condition ?? 'no'
  const [policy, times = '0'] = String(given === false ? 'no' : given).split(':')
  // The engine restarts both, unless a user stopped the container, which Berth never leaves to the engine.
  return `${policy === 'always' || policy === 'any' ? 'unless-stopped' : policy}:${times}`
}

const ulimitsOf = (value: Record<string, number | { soft: number; hard: number }> = {}) =>
  Object.entries(value)
    .map(([name, one]) =>
      typeof one === 'object' ? [name, Number(one.soft), Number(one.hard)] : [name, Number(one), Number(one)],
    )
    .sort()
const ulimitsIn = (all: { Name?: string; Soft?: number; Hard?: number }[]) =>
  all.map(({ Name, Soft, Hard }) => [Name, Soft, Hard]).sort()

const hostsOf = (value: unknown): string[] =>
  (Array.isArray(value) ? value.map(String) : Object.entries(value ?? {}).map(([name, to]) => `${name}:${to}`))
    .map((one) => one.replace('=', ':'))
    .sort()

interface Health {
  Test?: string[]
  Interval?: number
  Timeout?: number
  Retries?: number
  StartPeriod?: number
}

/** Compares the health check that the engine runs: `CMD-SHELL` is `/bin/sh -c`, and a missing number is the engine's default. */
function compareHealth(
  name: string,
  { healthcheck }: Written,
  { named }: RunningService,
  { Config }: ContainerInspectInfo,
  same: Same,
) {
  const runs = (Config as { Healthcheck?: Health }).Healthcheck
  const ofImage = (named.Config as { Healthcheck?: Health }).Healthcheck
  if (!healthcheck || (isOn(healthcheck.disable) === false && healthcheck.test === undefined)) {
    same(name, 'healthcheck', ofImage ?? null, runs ?? null)
    return
  }
  const { test } = healthcheck
  const [how, ...words] = Array.isArray(test) ? test : ['CMD-SHELL', test]
  if (how === 'NONE' || isOn(healthcheck.disable)) return same(name, 'healthcheck test', ['NONE'], runs?.Test)
  same(name, 'healthcheck test', how === 'CMD' ? words : ['/bin/sh', '-c', words.join(' ')], runs?.Test?.slice(1))
  const given = [
    ['interval', 'Interval', 30e9],
    ['timeout', 'Timeout', 30e9],
    ['start_period', 'StartPeriod', 0],
  ] as const
  for (const [field, engines, otherwise] of given)
    same(
      name,
      `healthcheck ${field}`,
      healthcheck[field] ? durationOf(healthcheck[field]) : otherwise,
      runs?.[engines] || otherwise,
    )
  same(name, 'healthcheck retries', Number(healthcheck.retries ?? 3), runs?.Retries || 3)
}

const networksOf = ({ networks, network_mode: mode }: Written): Record<string, { aliases?: string[] } | null> =>
  mode ? {} : Array.isArray(networks) ? Object.fromEntries(networks.map((one) => [one, null])) : (networks ?? { default: null })

/**
 * Networks have other names here: compares which services are together on each, under which aliases, and whether it is internal.
 */
function compareNetworks(
  services: WrittenFile['services'],
  networks: WrittenFile['networks'],
  running: ReadonlyMap<string, RunningService>,
  isInternal: (network: string) => boolean,
  same: Same,
): void {
  const started = Object.entries(services).filter(([, written]) => !isExcluded(written))
  const members = Map.groupBy(
    started.flatMap(([name, written]) => Object.keys(networksOf(written)).map((network) => ({ name, network }))),
    ({ network }) => network,
  )
  const found = Map.groupBy(
    [...running].flatMap(([name, { containers }]) =>
      containers.flatMap(({ NetworkSettings }) => Object.keys(NetworkSettings.Networks).map((network) => ({ name, network }))),
    ),
    ({ network }) => network,
  )
  const text = (all: { name: string }[], internal: boolean) =>
    `${[...new Set(all.map(({ name }) => name))].sort().join('+')}${internal ? ' (internal)' : ''}`
  const wanted = [...members].map(([network, all]) => text(all, isOn(networks[network]?.internal))).sort()
  same('', 'networks', wanted, [...found].map(([network, all]) => text(all, isInternal(network))).sort())
  for (const [name, written] of started)
    for (const [network, given] of Object.entries(networksOf(written))) {
      const names = [name, ...(given?.aliases ?? []), ...(written.container_name ? [written.container_name] : [])]
      const group = text(members.get(network) ?? [], isOn(networks[network]?.internal))
      for (const { NetworkSettings } of running.get(name)?.containers ?? []) {
        const own = Object.entries(NetworkSettings.Networks).filter(
          ([one]) => text(found.get(one) ?? [], isInternal(one)) === group,
        )
        const known = own.flatMap(([, endpoint]) => (endpoint as { Aliases?: string[] | null }).Aliases ?? [])
        for (const alias of names) same(name, `networks ${network} alias ${alias}`, true, known.includes(alias))
      }
    }
}

interface Mount {
  source: string | null
  target: string
  readOnly: boolean
}

const mountsOf = ({ volumes = [] }: Written): Mount[] =>
  volumes.map((one: string | Written) => {
    if (typeof one !== 'string') return { source: one.source ?? null, target: one.target, readOnly: isOn(one.read_only) }
    const parts = one.split(':')
    return parts.length === 1
      ? { source: null, target: parts[0]!, readOnly: false }
      : { source: parts[0]!, target: parts[1]!, readOnly: (parts[2] ?? '').split(',').includes('ro') }
  })

/** Compares the mounts; two that share a source in the file, and no others, must share their files here. */
function compareVolumes(services: WrittenFile['services'], running: ReadonlyMap<string, RunningService>, same: Same): void {
  const sources = new Map<string, string>()
  for (const [name, written] of Object.entries(services))
    for (const { source, target, readOnly } of mountsOf(written))
      for (const { Mounts, Id } of running.get(name)?.containers ?? []) {
        const mount = Mounts.find(({ Destination }) => Destination === target)
        const isPath = source?.startsWith('/') ?? false
        same(
          name,
          `volumes ${target}`,
          isPath && mount?.Type !== 'bind' && mount?.Type !== 'volume' ? `bind of ${source}` : 'mounted',
          mount ? 'mounted' : null,
        )
        if (!mount) continue
        same(name, `volumes ${target} read-only`, readOnly, !mount.RW)
        const key = source ?? `${Id} ${target}`
        same(name, `volumes ${target} shared`, sources.get(key) ?? mount.Name ?? mount.Source, mount.Name ?? mount.Source)
        sources.set(key, mount.Name ?? mount.Source)
      }
}
