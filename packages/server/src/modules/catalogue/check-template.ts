import { exposedService } from '../../source/exposed-service.ts'
import type { Template } from './read-template.ts'

/** A tag with a version of at least two parts, or a date. */
const pinnedTag = /:[^:@/]*\d+[._-]\d+[^:@/]*$/
const floatingTag = /(^|[^a-z])(latest|stable|main|master|edge|nightly|dev|lts)([^a-z]|$)/i

/** Problems of a template beyond its schema; empty: none. A test requires none of every template. */
export function templateProblems(template: Template): string[] {
  return [...imageProblems(template), ...volumeProblems(template), ...healthProblems(template), ...variableProblems(template)]
}

function imageProblems({ services }: Template): string[] {
  return services.flatMap(({ name, image }) => {
    if (!image) return [`${name} has no image`]
    const tag = image.slice(image.lastIndexOf(':') + 1)
    return pinnedTag.test(image) && !floatingTag.test(tag) ? [] : [`${name}: ${image} does not name a version`]
  })
}

function volumeProblems({ services, backup }: Template): string[] {
  const mounts = services.flatMap(({ volumes = [] }) => volumes)
  const others = mounts.filter(({ type }) => type !== 'volume' && type !== 'tmpfs')
  const kept = mounts.filter(({ type }) => type === 'volume')
  return [
    ...others.map(({ target }) => `${target} is not a volume`),
    ...(kept.length > 0 && !backup ? ['it has a volume and no backup policy'] : []),
    ...(kept.length === 0 && backup ? ['it has a backup policy and no volume'] : []),
  ]
}

/** Each service has a health check of its own, or an open port or an HTTP path that proves it. */
function healthProblems({ services, exposed, healthPath, healthByPort = [], connection }: Template): string[] {
  const found = exposedService(services)?.name
  const names = services.map(({ name }) => name)
  const referenced = [...healthByPort, ...(exposed ? [exposed] : []), ...(connection ? [connection.service] : [])]
  return [
    ...referenced.filter((name) => !names.includes(name)).map((name) => `${name} is not a service`),
    ...(found === exposed ? [] : [`the address would lead to ${found ?? 'no service'}, not to ${exposed ?? 'none'}`]),
    ...(healthPath && !exposed ? ['healthPath has no effect: no service is exposed'] : []),
    ...services.flatMap(({ name, healthcheck, ports = [] }) => {
      if (healthcheck || (name === exposed && healthPath)) return []
      return healthByPort.includes(name) && ports.length > 0 ? [] : [`${name} has no health check`]
    }),
    ...services.flatMap(({ name, restart }) => (restart ? [] : [`${name} has no restart policy`])),
  ]
}

const references = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g
const wholeReference = /^\$\{[A-Za-z_][A-Za-z0-9_]*\}$/
const namesIn = (text: string): string[] => [...text.matchAll(references)].map(([, name]) => name as string)

function variableProblems({ services, variables, connection }: Template): string[] {
  const names = variables.map(({ name }) => name)
  const used = services.flatMap(({ environment = {} }) => Object.entries(environment))
  const inCommands = services.flatMap(({ command, entrypoint }) => [...(command ?? []), ...(entrypoint ?? [])])
  return [
    ...names.filter((name, at) => names.indexOf(name) !== at).map((name) => `${name} is declared twice`),
    ...variables.flatMap(({ name, value, generate, isSecret }, at) => [
      ...(value === undefined && !generate ? [`${name} has neither a value nor a generator`] : []),
      ...(generate && isSecret === false ? [`${name} is generated, so it is secret`] : []),
      ...namesIn(value ?? '')
        .filter((other) => ![...names.slice(0, at), 'URL', 'HOSTNAME'].includes(other))
        .map((other) => `${name} names ${other}, which is not an earlier variable`),
    ]),
    // The deployment replaces whole values only, and nothing in commands.
    ...used
      .filter(([, value]) => namesIn(value).some((name) => names.includes(name)) && !wholeReference.test(value))
      .map(([key]) => `the value of ${key} contains more than a reference`),
    ...inCommands.flatMap((word) => (namesIn(word).some((name) => names.includes(name)) ? [`a command contains ${word}`] : [])),
    ...names
      .filter((name) => !used.some(([, value]) => value === `\${${name}}`) && !usedByOthers(name, variables))
      .map((name) => `${name} is not used`),
    ...Object.entries(connection?.variables ?? {}).flatMap(([name, value]) =>
      namesIn(value)
        .filter((other) => ![...names, 'HOST', 'PORT'].includes(other))
        .map((other) => `the link variable ${name} names ${other}, which does not exist`),
    ),
  ]
}

const usedByOthers = (name: string, variables: Template['variables']): boolean =>
  variables.some(({ value }) => namesIn(value ?? '').includes(name))
