import type { BuildPlan } from '../../build-plan.ts'

/**
 * Commands that run before those of the project: they make Python install packages into a folder of the project instead of the
 * machine. A build command may install packages too, such as the one of a `render.yaml`. Without an install and a build command,
 * the folder only provides the program name `python`, which Debian lacks, and the machine's packages stay visible.
 */
export function setupCommands({
  language,
  installCommand,
  buildCommand,
}: Pick<BuildPlan, 'language' | 'installCommand' | 'buildCommand'>): string[] {
  if (language !== 'python') return []
  return [installCommand || buildCommand ? 'python3 -m venv .venv' : 'python3 -m venv --without-pip --system-site-packages .venv']
}
