import type { BuildPlan } from '../../build-plan.ts'

/**
 * Commands that run before those of the project: Python packages are installed into a folder of the project instead of the machine. A
 * build command may install them as well, such as the one of a `render.yaml`.
 */
export const setupCommands = ({
  language,
  installCommand,
  buildCommand,
}: Pick<BuildPlan, 'language' | 'installCommand' | 'buildCommand'>): string[] =>
  language === 'python' && (installCommand || buildCommand) ? ['python3 -m venv .venv'] : []
