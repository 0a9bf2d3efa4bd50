import type { Detection } from '../../../src/source/detection/detection.ts'

/** A typical folder, and the expected detection. */
export interface CorpusCase {
  name: string
  files: Record<string, string | object>
  is: Partial<Detection>
}

const lock = { lockfileVersion: 3 }

/** A package of npm with its lockfile. */
export const npm = (
  dependencies: string[],
  scripts: Record<string, string> = {},
  more: Record<string, unknown> = {},
): Record<string, string | object> => ({
  'package.json': {
    name: 'sample',
    scripts,
    dependencies: Object.fromEntries(dependencies.map((name) => [name, '1.0.0'])),
    ...more,
  },
  'package-lock.json': lock,
})

export const page = '<!doctype html><title>page</title>'
