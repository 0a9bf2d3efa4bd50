import { count, flag, keys, list, record, stringMap, text, textOrNull, texts, textsOrNull } from './plain-values.ts'
import { unusualSettings } from './read-unusual.ts'
import type { ReadContainer, ReadHealthCheck, ReadImage, ReadMount, ReadPort } from './server-reader.ts'

const nanosecondsPerSecond = 1e9

/** Reads the response of `GET /containers/:id/json`. */
export function readContainer(response: unknown): ReadContainer {
  const container = record(response)
  const [config, host, state] = [record(container.Config), record(container.HostConfig), record(container.State)]
  return {
    id: text(container.Id),
    name: text(container.Name).replace(/^\//, ''),
    image: text(config.Image),
    imageId: text(container.Image),
    state: text(state.Status),
    health: textOrNull(record(state.Health).Status),
    createdAt: text(container.Created),
    env: texts(config.Env),
    command: textsOrNull(config.Cmd),
    entrypoint: textsOrNull(config.Entrypoint),
    workingDir: text(config.WorkingDir),
    user: text(config.User),
    hostname: text(config.Hostname),
    labels: stringMap(config.Labels),
    restart: text(record(host.RestartPolicy).Name) || 'no',
    ports: portsOf(config, host),
    mounts: list(container.Mounts).map(mountOf),
    networks: networksOf(container),
    networkMode: text(host.NetworkMode),
    healthCheck: healthCheckOf(config.Healthcheck),
    limits: { memoryBytes: count(host.Memory), nanoCpus: count(host.NanoCpus), pids: Math.max(0, count(host.PidsLimit)) },
    rights: {
      privileged: flag(host.Privileged),
      capAdd: texts(host.CapAdd),
      devices: list(host.Devices).map((device) => text(record(device).PathOnHost)),
      securityOptions: texts(host.SecurityOpt),
      pidMode: text(host.PidMode),
      readOnly: flag(host.ReadonlyRootfs),
    },
    stopSignal: text(config.StopSignal),
    stopGraceSeconds: typeof config.StopTimeout === 'number' ? config.StopTimeout : null,
    removedAtEnd: flag(host.AutoRemove),
    unusual: unusualSettings(config, host),
  }
}

/** Configured ports, which a stopped container has as well. A port that is only exposed has no host port. */
function portsOf(config: Record<string, unknown>, host: Record<string, unknown>): ReadPort[] {
  const bindingsByPort = record(host.PortBindings)
  const all = new Set([...keys(config.ExposedPorts), ...keys(bindingsByPort)])
  return [...all].flatMap((name): ReadPort[] => {
    const [, digits = '', protocol = 'tcp'] = /^(\d{1,5})(?:\/(\w+))?$/.exec(name) ?? []
    if (digits === '') return []
    const port = { containerPort: Number(digits), protocol }
    const bindings = list(bindingsByPort[name]).map(record)
    if (bindings.length === 0) return [{ ...port, hostPort: null, hostIp: null }]
    return bindings.map(({ HostPort, HostIp }) => ({
      ...port,
      hostPort: /^\d{1,5}$/.test(text(HostPort)) ? Number(HostPort) : null,
      hostIp: text(HostIp) || null,
    }))
  })
}

function mountOf(value: unknown): ReadMount {
  const { Type, Name, Source, Destination, RW } = record(value)
  const type = text(Type)
  const source = type === 'volume' ? text(Name) : text(Source)
  return { type, source: source || null, target: text(Destination), readOnly: RW === false }
}

function networksOf(container: Record<string, unknown>): Record<string, string[]> {
  const found: Record<string, string[]> = Object.create(null)
  const networks = record(record(container.NetworkSettings).Networks)
  for (const name of keys(networks)) found[name] = texts(record(networks[name]).Aliases)
  return found
}

function healthCheckOf(value: unknown): ReadHealthCheck | null {
  const { Test, Interval, Timeout, Retries, StartPeriod } = record(value)
  const test = texts(Test)
  if (test.length === 0) return null
  const seconds = (one: unknown) => (count(one) > 0 ? count(one) / nanosecondsPerSecond : null)
  return {
    test,
    intervalSeconds: seconds(Interval),
    timeoutSeconds: seconds(Timeout),
    retries: count(Retries) || null,
    startPeriodSeconds: seconds(StartPeriod),
  }
}

/** Reads the response of `GET /images/:id/json`. */
export function readImage(response: unknown): ReadImage {
  const image = record(response)
  const config = record(image.Config)
  return {
    id: text(image.Id),
    tags: texts(image.RepoTags),
    env: texts(config.Env),
    command: textsOrNull(config.Cmd),
    entrypoint: textsOrNull(config.Entrypoint),
    workingDir: text(config.WorkingDir),
    user: text(config.User),
    labels: stringMap(config.Labels),
    exposedPorts: keys(config.ExposedPorts),
    volumes: keys(config.Volumes),
    stopSignal: text(config.StopSignal),
  }
}
