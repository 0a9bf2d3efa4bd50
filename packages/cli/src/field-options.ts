import type { Command } from 'commander'
import type { explain } from './exit-codes.ts'

type Problem = ReturnType<typeof explain>

/** API fields whose command-line option has another name. */
const otherNames: Record<string, string> = {
  q: 'search',
  expiresInDays: 'days',
  scopes: 'scope',
  projectIds: 'project',
  gitBranch: 'branch',
  url: 'hostUrl',
  healthCheck: 'healthPath',
  volumes: 'volume',
  cronExpression: 'schedule',
  retainCount: 'keep',
  retainDays: 'keepDays',
  proveEveryDays: 'proveEvery',
  secretAccessKey: 'secretStdin',
  password: 'passwordStdin',
  privateKey: 'key',
}

/** Replaces the API field of a problem by the command's option for it; a field without an option is unchanged. */
export function withOptionName(problem: Problem, command: Command): Problem {
  return problem.field ? { ...problem, field: optionOf(problem.field, command) } : problem
}

export function optionOf(field: string, command: Command): string {
  const [first = '', second = ''] = field.split(/[.[]/)
  // The config of a backup destination is spread over options.
  const key = first === 'config' ? second : first
  const name = otherNames[key] ?? key
  return command.options.find((one) => one.attributeName() === name)?.long ?? field
}
