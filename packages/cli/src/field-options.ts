import type { Command } from 'commander'
import type { explain } from './exit-codes.ts'

type Problem = ReturnType<typeof explain>

/** Fields of the API whose option is called otherwise. */
const otherNames: Record<string, string> = {
  q: 'search',
  expiresInDays: 'days',
  scopes: 'scope',
  projectIds: 'project',
  gitBranch: 'branch',
  healthCheck: 'healthPath',
}

/** The field that the API names, as the option of the command that set it; a field without one stays as it is. */
export function inOptions(problem: Problem, command: Command): Problem {
  return problem.field ? { ...problem, field: optionOf(problem.field, command) } : problem
}

export function optionOf(field: string, command: Command): string {
  const [first = ''] = field.split(/[.[]/)
  const name = otherNames[first] ?? first
  return command.options.find((one) => one.attributeName() === name)?.long ?? field
}
