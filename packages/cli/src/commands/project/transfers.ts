import { contract, type OpenSide } from '@berth/contract'
import type { Command } from 'commander'
import { connect } from '../../credentials.ts'
import { columns, minute, output } from '../../output.ts'

/** `berth project transfers`: lists running transfers on this side, started by any user, and cancels them. */
export function addTransfers(project: Command): void {
  project
    .command('transfers')
    .description('list running transfers, exports and imports, or cancel one')
    .option('--cancel <id>', 'cancel this transfer (trf_…); the project stays at its source')
    .addHelpText(
      'after',
      '\nAn abandoned transfer (an interrupted export, an instance that stays offline) uses disk space and blocks changes to its\nproject until it is cancelled. An inactive export is cancelled after 15 minutes, an inactive import after a day.',
    )
    .action(async ({ cancel }: { cancel?: string }, command: Command) => {
      const client = connect(command)
      if (cancel !== undefined) {
        await client.call(contract.transfers.callOff, { params: { id: cancel } })
        return output(command).result({ transfer: cancel }, () => `cancelled ${cancel}`)
      }
      const { data } = await client.call(contract.transfers.list, {})
      output(command).result(data, () => (data.length === 0 ? 'No transfers are running' : columns([head, ...data.map(line)])))
    })
}

const head = ['ID', 'PROJECT', 'DIRECTION', 'STATE', 'STARTED', 'LAST ACTIVE']
const line = ({ transfer, projectId, side, state, createdAt, touchedAt }: OpenSide): string[] => [
  ...[transfer, projectId, side === 'departure' ? 'export' : 'import', state],
  ...[minute(createdAt), minute(touchedAt)],
]
