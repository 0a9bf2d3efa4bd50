import { javascriptManagers } from './javascript-tools.ts'
import { pythonManagers } from './python-tools.ts'
import { stacks } from './stacks/index.ts'

/** Every framework that a folder can be detected as, in alphabetical order. */
export const knownFrameworks: readonly string[] = [...new Set(stacks.map(({ framework }) => framework))].sort()

/** Every package manager that a plan may be made with. */
export const knownPackageManagers: readonly string[] = [
  ...javascriptManagers,
  ...pythonManagers,
  'bundler',
  'cargo',
  'composer',
  'deno',
  'go',
  'gradle',
  'maven',
  'mix',
  'nuget',
]
