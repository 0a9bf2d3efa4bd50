import { inheritedEnvironment } from '../../../shell/inherited-environment.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'

/** A folder for temporary files that the machine names is not there inside. */
export function baseEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
  { kind }: Sandbox,
): Record<string, string> {
  const { TMPDIR, ...inherited } = inheritedEnvironment(environment)
  return kind === 'none' && TMPDIR ? { ...inherited, TMPDIR } : inherited
}

/** `my-data` is found in BERTH_VOLUME_MY_DATA. */
export const volumeVariable = (name: string) => `BERTH_VOLUME_${name.toUpperCase().replace(/[^A-Z0-9]/g, '_')}`
