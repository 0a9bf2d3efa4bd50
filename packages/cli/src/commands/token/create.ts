import { contract, type Permission } from '@berth/contract'
import { type Command, InvalidArgumentError } from 'commander'
import { connect } from '../../credentials.ts'
import { output } from '../../output.ts'

interface Options {
  scope?: Permission[]
  project?: string[]
  days?: number
}

export function addTokenCreate(token: Command): void {
  token
    .command('create <name>')
    .description('create a token; its value is shown only now')
    .option('--scope <tag...>', 'permission tags to limit the token to (default: all of your role)')
    .option('--project <project...>', 'projects to limit the token to, by id, slug or name (default: all)')
    .option('--days <n>', 'days until it expires, 1 to 365 (default: never)', days)
    .action(async (name: string, { scope, project, days }: Options, command: Command) => {
      const { data } = await connect(command).call(contract.access.createToken, {
        body: {
          name,
          ...(scope ? { scopes: scope } : {}),
          ...(project ? { projectIds: project } : {}),
          ...(days ? { expiresInDays: days } : {}),
        },
      })
      output(command).result(data, () => data.token)
      output(command).note('Copy the token now: it is not shown again.')
    })
}

function days(value: string): number {
  const number = Number(value)
  if (!Number.isInteger(number) || number < 1 || number > 365)
    throw new InvalidArgumentError('Must be a whole number from 1 to 365.')
  return number
}
