import { count, flag, keys, list, record, text, texts } from './plain-values.ts'

const defaultShmBytes = 64 * 1024 ** 2

/**
 * Names the settings of a container that a takeover would lose, because Berth does not read them otherwise. The texts contain
 * numbers of the server's configuration, never its strings.
 */
export function unusualSettings(config: Record<string, unknown>, host: Record<string, unknown>): string[] {
  const shmBytes = count(host.ShmSize)
  const settings: [string, boolean][] = [
    [`${Math.round(shmBytes / 1024 ** 2)} MB of shared memory`, shmBytes > 0 && shmBytes !== defaultShmBytes],
    ['resource limits (ulimits)', list(host.Ulimits).length > 0],
    ['an init process', flag(host.Init)],
    ['additional host names (extra_hosts)', texts(host.ExtraHosts).length > 0],
    ['custom name servers', texts(host.Dns).length > 0],
    ['kernel settings (sysctls)', keys(host.Sysctls).length > 0],
    ['dropped capabilities (cap_drop)', texts(host.CapDrop).length > 0],
    ['security options', texts(host.SecurityOpt).length > 0],
    ['additional groups (group_add)', texts(host.GroupAdd).length > 0],
    ['links to other containers', texts(host.Links).length > 0],
    ['tmpfs mounts', keys(host.Tmpfs).length > 0],
    ['the IPC namespace of the server or of another container', /^(host|container:)/.test(text(host.IpcMode))],
    ['the host name of the server', text(host.UTSMode) === 'host'],
    ['a domain name', text(config.Domainname) !== ''],
    ['a custom runtime', !['', 'runc', 'io.containerd.runc.v2'].includes(text(host.Runtime))],
    ['a terminal', flag(config.Tty)],
    ['pinned CPU cores (cpuset)', text(host.CpusetCpus) !== ''],
    ['a CPU weight (cpu_shares)', count(host.CpuShares) > 0],
    ['reserved memory', count(host.MemoryReservation) > 0],
    ['another log driver', !['', 'json-file', 'local', 'journald'].includes(text(record(host.LogConfig).Type))],
  ]
  return settings.filter(([, isSet]) => isSet).map(([message]) => message)
}
