import { expect, test } from 'vitest'
import { newProgram } from '../program.ts'
import { addCommands } from './commands.ts'
import { addUp } from './up.ts'

const program = newProgram()
addUp(program)
addCommands(program)

test('every command is in a group of the help, and the groups come in their order', () => {
  const help = program.helpInformation()
  expect(help.match(/^[A-Z]\w+:$/gm)).toEqual(['Options:', 'Deploy:', 'Projects:', 'Backups:', 'Account:', 'Instance:', 'Other:'])
  expect(program.commands.filter((one) => !one.helpGroup()).map((one) => one.name())).toEqual([])
})

test.each([
  ['Deploy:', ['init', 'deploy', 'rollback', 'deployments']],
  ['Projects:', ['list', 'logs', 'env', 'domains', 'delete']],
  ['Account:', ['login', 'token']],
  ['Instance:', ['up', 'servers']],
  ['Other:', ['api', 'help']],
])('%s lists its commands', (heading, names) => {
  const section = program.helpInformation().split(`\n${heading}\n`)[1]?.split('\n\n')[0] ?? ''
  const listed = [...section.matchAll(/^ {2}([\w-]+)/gm)].map(([, name]) => name)
  expect(listed.filter((name) => names.includes(name ?? ''))).toEqual(names)
})
