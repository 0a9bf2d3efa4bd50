import type { BuildPlan } from '../../build-plan.ts'

/**
 * Commands that run before those of the project: Python packages are installed into a folder of the project instead of the machine. A
 * build command may install them as well, such as the one of a `render.yaml`. Without either the folder only holds the name `python`,
 * which Debian does not have, and the packages of the machine are visible.
 */
export function setupCommands({
  language,
  installCommand,
  buildCommand,
}: Pick<BuildPlan, 'language' | 'installCommand' | 'buildCommand'>): string[] {
  if (language !== 'python') return []
  return [installCommand || buildCommand ? 'python3 -m venv .venv' : 'python3 -m venv --without-pip --system-site-packages .venv']
}
