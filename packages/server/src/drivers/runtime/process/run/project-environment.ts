import { inheritedEnvironment } from '../../../shell/inherited-environment.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'

/** Variables that programs inherit from the machine. TMPDIR is dropped in a sandbox, where that folder may not exist. */
export function baseEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
  { kind }: Sandbox,
): Record<string, string> {
  const { TMPDIR, ...inherited } = inheritedEnvironment(environment)
  return kind === 'none' && TMPDIR ? { ...inherited, TMPDIR } : inherited
}

/** Variable with the path of a volume: BERTH_VOLUME_MY_DATA for `my-data`. */
export const volumeVariable = (name: string) => `BERTH_VOLUME_${name.toUpperCase().replace(/[^A-Z0-9]/g, '_')}`
