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
  healthCheck: 'healthPath',
  volumes: 'volume',
}

/** Replaces the API field of a problem by the command's option for it; a field without an option is unchanged. */
export function withOptionName(problem: Problem, command: Command): Problem {
  return problem.field ? { ...problem, field: optionOf(problem.field, command) } : problem
}

export function optionOf(field: string, command: Command): string {
  const [first = ''] = field.split(/[.[]/)
  const name = otherNames[first] ?? first
  return command.options.find((one) => one.attributeName() === name)?.long ?? field
}
