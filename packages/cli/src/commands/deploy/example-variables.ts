import { contract, type ReplyOf } from '@berth/contract'
import { isCancel } from '@clack/prompts'
import type { Command } from 'commander'
import type { Connection } from '../../credentials.ts'
import type { Output } from '../../output.ts'
import { isAtTerminal, prompts } from '../../prompt.ts'

type ExampleVariables = NonNullable<ReplyOf<typeof contract.projects.scanUpload>['data']['exampleVariables']>

const maxNamed = 8

/**
 * Offers the variables of a template such as `.env.example` before the first deployment. At a terminal it prompts for the values;
 * an empty value is left out. Elsewhere it names the variables.
 */
export async function offerVariables(
  client: Pick<Connection, 'call'>,
  projectId: string,
  example: ExampleVariables | undefined,
  print: Output,
  command: Command,
): Promise<void> {
  if (!example) return
  const { file, variables } = example
  const more = variables.length > maxNamed ? ` and ${variables.length - maxNamed} more` : ''
  const list = `${variables
    .slice(0, maxNamed)
    .map(({ key }) => key)
    .join(', ')}${more}`
  if (!isAtTerminal(command)) {
    print.note(`${file} names variables that the app may need: ${list}. Set them with berth env set or berth env push.`)
    return
  }
  const answer = await prompts.confirm({ message: `${file} names variables that the app may need: ${list}. Set them now?` })
  if (isCancel(answer) || !answer) return
  const upserts = await promptForValues(variables)
  if (upserts.length === 0) return
  await client.call(contract.projects.changeEnv, { params: { id: projectId }, body: { upserts } })
  print.note(`set as secrets: ${upserts.map(({ key }) => key).join(', ')}`)
}

/** The values that the user entered; cancelling leaves out the rest. */
async function promptForValues(variables: ExampleVariables['variables']) {
  const upserts: { key: string; value: string; isSecret: boolean }[] = []
  for (const { key, value: initialValue } of variables) {
    const value = await prompts.text({ message: key, initialValue, placeholder: 'empty: not set' })
    if (isCancel(value)) return upserts
    if (value) upserts.push({ key, value, isSecret: true })
  }
  return upserts
}
