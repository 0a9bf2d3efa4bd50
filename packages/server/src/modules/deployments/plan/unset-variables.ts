import type { ExampleVariables } from '../../../source/detection/index.ts'
import { DeployFailed } from '../deploy-failed.ts'

/** Variables that a template in the source, such as `.env.example`, names and that the environment does not set. */
export interface UnsetVariables {
  file: string
  names: string[]
}

export function unsetVariables(
  example: ExampleVariables | undefined,
  env: Readonly<Record<string, string>>,
): UnsetVariables | undefined {
  const names = (example?.variables ?? []).map(({ key }) => key).filter((key) => !(key in env))
  return example && names.length > 0 ? { file: example.file, names } : undefined
}

const maxNamed = 8
/** Failures of the program or of its build, which a missing variable may have caused. */
const ownFailures = new Set(['build_command_failed', 'crashed', 'unhealthy'])

export function unsetVariablesText({ file, names }: UnsetVariables): string {
  const more = names.length > maxNamed ? ` and ${names.length - maxNamed} more` : ''
  return `${file} names variables that are not set: ${names.slice(0, maxNamed).join(', ')}${more}`
}

/**
 * Adds the unset variables to the message of a failure that they may have caused. The failure of a package installation or of an
 * image build gets them only if its output names one of them.
 */
export function withUnsetVariables(
  failure: DeployFailed,
  unset: UnsetVariables | undefined,
  installCommands: readonly (string | null)[] = [],
): DeployFailed {
  if (!unset || !ownFailures.has(failure.code)) return failure
  // The failure of a command, unlike that of an image build, begins with the command in backticks.
  const isImageBuild = failure.code === 'build_command_failed' && !failure.message.startsWith('`')
  const isInstallation = installCommands.some((command) => command !== null && failure.message.startsWith(`\`${command}\``))
  if ((isInstallation || isImageBuild) && !unset.names.some((name) => failure.logTail.join('\n').includes(name))) return failure
  const message = `${failure.message.replace(/\.$/, '')}. ${unsetVariablesText(unset)}. Set them with berth env set, then deploy again`
  return new DeployFailed(failure.code, message, failure.logTail, { cause: failure })
}
