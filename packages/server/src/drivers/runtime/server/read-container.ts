import { count, flag, list, names, record, text, textOrNull, texts, textsOrNull, words } from './plain-values.ts'
import { unusualOf } from './read-unusual.ts'
import type { ReadContainer, ReadHealthCheck, ReadImage, ReadMount, ReadPort } from './server-reader.ts'

const nano = 1e9

/** Reads the response of `GET /containers/:id/json`. */
export function readContainer(answer: unknown): ReadContainer {
  const reported = record(answer)
  const [config, host, state] = [record(reported.Config), record(reported.HostConfig), record(reported.State)]
  return {
    id: text(reported.Id),
    name: text(reported.Name).replace(/^\//, ''),
    image: text(config.Image),
    imageId: text(reported.Image),
    state: text(state.Status),
    health: textOrNull(record(state.Health).Status),
    createdAt: text(reported.Created),
    env: texts(config.Env),
    command: textsOrNull(config.Cmd),
    entrypoint: textsOrNull(config.Entrypoint),
    workingDir: text(config.WorkingDir),
    user: text(config.User),
    hostname: text(config.Hostname),
    labels: words(config.Labels),
    restart: text(record(host.RestartPolicy).Name) || 'no',
    ports: portsOf(config, host),
    mounts: list(reported.Mounts).map(mountOf),
    networks: networksOf(reported),
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
    unusual: unusualOf(config, host),
  }
}

/** Configured ports, which a stopped container has as well. A port that is only exposed has no host port. */
function portsOf(config: Record<string, unknown>, host: Record<string, unknown>): ReadPort[] {
  const bound = record(host.PortBindings)
  const all = new Set([...names(config.ExposedPorts), ...names(bound)])
  return [...all].flatMap((name): ReadPort[] => {
    const [, port = '', protocol = 'tcp'] = /^(\d{1,5})(?:\/(\w+))?$/.exec(name) ?? []
    if (port === '') return []
    const location = { containerPort: Number(port), protocol }
    const bindings = list(bound[name]).map(record)
    if (bindings.length === 0) return [{ ...location, hostPort: null, hostIp: null }]
    return bindings.map(({ HostPort, HostIp }) => ({
      ...location,
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

function networksOf(reported: Record<string, unknown>): Record<string, string[]> {
  const found: Record<string, string[]> = Object.create(null)
  const networks = record(record(reported.NetworkSettings).Networks)
  for (const name of names(networks)) found[name] = texts(record(networks[name]).Aliases)
  return found
}

function healthCheckOf(value: unknown): ReadHealthCheck | null {
  const { Test, Interval, Timeout, Retries, StartPeriod } = record(value)
  const test = texts(Test)
  if (test.length === 0) return null
  const seconds = (one: unknown) => (count(one) > 0 ? count(one) / nano : null)
  return {
    test,
    intervalSeconds: seconds(Interval),
    timeoutSeconds: seconds(Timeout),
    retries: count(Retries) || null,
    startPeriodSeconds: seconds(StartPeriod),
  }
}

/** Reads the response of `GET /images/:id/json`. */
export function readImage(answer: unknown): ReadImage {
  const reported = record(answer)
  const config = record(reported.Config)
  return {
    id: text(reported.Id),
    tags: texts(reported.RepoTags),
    env: texts(config.Env),
    command: textsOrNull(config.Cmd),
    entrypoint: textsOrNull(config.Entrypoint),
    workingDir: text(config.WorkingDir),
    user: text(config.User),
    labels: words(config.Labels),
    exposedPorts: names(config.ExposedPorts),
    volumes: names(config.Volumes),
    stopSignal: text(config.StopSignal),
  }
}
