import type { ProjectOptions, Service, Volume } from '@berth/contract'
import { isBelow, normalMountPath } from '../../../drivers/runtime/mount-path.ts'
import { refuse } from '../../../platform/failure.ts'
import { knownFrameworks, knownPackageManagers } from '../../../source/detection/known-names.ts'

/** Checks a project's config beyond its schema. `stored` are the project's current services. */
export function checkConfig(
  changes: Pick<ProjectOptions, 'volumes' | 'services' | 'image' | 'type'>,
  stored: readonly Service[] = [],
): void {
  if (changes.volumes) checkVolumes(changes.volumes)
  if (changes.services) checkServices(changes.services, stored)
  if (changes.image) checkImage(changes)
}

function checkImage({ type, services }: Pick<ProjectOptions, 'type' | 'services'>): void {
  if (type === 'static' || type === 'services') refuse('type', 'a project from an image must be an app or a worker')
  if (services && services.length > 0) refuse('services', 'cannot be combined with `image`')
}

/** Checks names against those that detection knows, which the build plan depends on. */
export function checkNames({ framework, packageManager }: Pick<ProjectOptions, 'framework' | 'packageManager'>): void {
  if (framework && !knownFrameworks.includes(framework))
    refuse('framework', `${JSON.stringify(framework)} is not a known framework; GET /api/frameworks lists them`)
  if (packageManager && !knownPackageManagers.includes(packageManager))
    refuse('packageManager', `must be one of ${knownPackageManagers.join(', ')}`)
}

/** Paths that the kernel fills. No runtime can mount a volume there. */
const kernelPaths = ['/proc', '/sys', '/dev']

/** A running project finds each volume by `BERTH_VOLUME_<NAME>`, so two names must not map to the same variable. */
function checkVolumes(volumes: readonly Volume[]): void {
  const variable = ({ name }: Volume) => name.toUpperCase().replace(/[^A-Z0-9]/g, '_')
  volumes.forEach((volume, position) => {
    const before = volumes.slice(0, position)
    if (before.some((other) => variable(other) === variable(volume))) refuse(`volumes.${position}.name`, 'is a duplicate')
    const [field, mountPath] = [`volumes.${position}.mountPath`, normalMountPath(volume.mountPath)]
    if (before.some((other) => normalMountPath(other.mountPath) === mountPath)) refuse(field, 'is a duplicate')
    if (mountPath === '/' || isBelow(kernelPaths, mountPath))
      refuse(field, `no volume can be mounted at ${mountPath}. Set another path, such as /data.`)
  })
}

function checkServices(services: readonly Service[], stored: readonly Service[]): void {
  const names = services.map(({ name }) => name)
  const storedBinds = new Set(stored.flatMap(bindsOf))
  services.forEach((service, position) => {
    if (names.indexOf(service.name) !== position) refuse(`services.${position}.name`, 'is a duplicate')
    for (const other of service.dependsOn ?? [])
      if (!names.includes(other)) refuse(`services.${position}.dependsOn`, `service ${other} does not exist`)
    service.volumes?.forEach((mount, index) => {
      const problem = mountProblem(mount, storedBinds)
      if (problem) refuse(`services.${position}.volumes.${index}.${problem[0]}`, problem[1])
    })
  })
}

type Mount = NonNullable<Service['volumes']>[number]

const volumeName = /^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/
const containerPath = /^\/(?!(.*\/)?\.\.(\/|$))[^\0]+$/
/** A path inside the project's folder: relative, without `..`, and not a root path on any operating system. */
const projectPath = /^(?![/~])(?![a-zA-Z]:)(?!(.*\/)?\.\.(\/|$))[^\0\\]+$/

/** A host path could expose the whole machine, so it is refused, except one that an adoption has recorded. */
function mountProblem(
  { type, source, target }: Mount,
  storedBinds: ReadonlySet<string>,
): [field: string, message: string] | null {
  if (!containerPath.test(target)) return ['target', 'must be an absolute path in the container']
  if (type === 'volume' && source && !volumeName.test(source)) return ['source', 'is not a valid volume name']
  if (type === 'bind' && !(source && (projectPath.test(source) || storedBinds.has(source))))
    return ['source', 'is outside the project']
  return null
}

const bindsOf = ({ volumes = [] }: Service): string[] =>
  volumes.flatMap(({ type, source }) => (type === 'bind' && source ? [source] : []))
