import type { ContainerCreateOptions, ImageInspectInfo } from 'dockerode'
import type { StartRequest } from '../runtime.ts'
import { StartFailed } from '../runtime-errors.ts'
import { fullArgv, healthcheckOf } from './command-line.ts'
import type { ServiceRow } from './read-service.ts'
import { isSecretPossible, isVariableFile, variableFiles, withVariables } from './secret-variables.ts'

/** Rejects what is not built for Swarm yet. */
export function refuseUnsupported({ artifact, network, links = [] }: StartRequest): void {
  if (artifact.kind !== 'image')
    throw new StartFailed('The artifact is not an image and cannot run in a swarm. Redeploy the project.')
  if (network || links.length > 0)
    throw new StartFailed(
      'Projects of several services and links between projects do not run in a swarm yet. Set BERTH_RUNTIME to docker, or move the project to a server (serverId).',
    )
}

/** Divides the environment: what a secret can carry is in no specification. Without a shell in the image, none can. */
export function divideVariables({ env }: StartRequest, { Env = [] }: ContainerCreateOptions, hasShell: boolean) {
  const isSecret = (name: string) => hasShell && Object.hasOwn(env, name) && name !== 'PORT' && isSecretPossible(name)
  const entries = Env.map((text) => ({ text, name: text.slice(0, text.indexOf('=')) }))
  const secret = Object.fromEntries(Object.entries(env).filter(([name]) => isSecret(name)))
  return { files: variableFiles(secret), variables: entries.filter(({ name }) => !isSecret(name)).map(({ text }) => text) }
}

export function commandOf(settings: ContainerCreateOptions, info: ImageInspectInfo, files: number) {
  const argv = fullArgv(settings, info)
  if (argv.length === 0) throw new StartFailed('The image declares no command. Set a start command.')
  return { argv: withVariables(argv, files), healthcheck: healthcheckOf(settings, info, files) }
}

export const variableCount = ({ Spec }: ServiceRow): number =>
  (Spec.TaskTemplate.ContainerSpec?.Secrets ?? []).filter(({ File }) => isVariableFile(File?.Name ?? '')).length
