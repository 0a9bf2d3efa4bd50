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
}

/** The field that the API names, as the option of the command that set it; a field without one stays as it is. */
export function inOptions(problem: Problem, command: Command): Problem {
  if (!problem.field) return problem
  const [first = ''] = problem.field.split(/[.[]/)
  const name = otherNames[first] ?? first
  const option = command.options.find((one) => one.attributeName() === name)
  return option?.long ? { ...problem, field: option.long } : problem
}
