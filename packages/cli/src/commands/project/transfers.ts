import { contract, type OpenEnd } from '@berth/contract'
import type { Command } from 'commander'
import { connect } from '../../credentials.ts'
import { columns, minute, output } from '../../output.ts'

/** `berth project transfers`: what is under way on this side, whoever began it, and an end to it. */
export function addTransfers(project: Command): void {
  project
    .command('transfers')
    .description('list moves, exports and imports of projects that are not over, or call one off')
    .option('--cancel <id>', 'call this one off (trf_…): nothing is changed, and its project serves where it was')
    .addHelpText(
      'after',
      '\nOne whose driver is gone (an export that was interrupted, an instance that does not come back) takes room and keeps its\nproject from being changed or moved until it is cancelled. A silent departure is cancelled after 15 minutes, an arrival after a day.',
    )
    .action(async ({ cancel }: { cancel?: string }, command: Command) => {
      const client = connect(command)
      if (cancel !== undefined) {
        await client.call(contract.transfers.callOff, { params: { id: cancel } })
        return output(command).result({ transfer: cancel }, () => `${cancel} is called off`)
      }
      const { data } = await client.call(contract.transfers.list, {})
      output(command).result(data, () => (data.length === 0 ? 'Nothing is under way' : columns([head, ...data.map(line)])))
    })
}

const head = ['ID', 'PROJECT', 'WAY', 'STATE', 'BEGUN', 'ASKED FOR LAST']
const line = ({ transfer, projectId, side, state, createdAt, touchedAt }: OpenEnd): string[] => [
  ...[transfer, projectId, side === 'departure' ? 'leaves' : 'arrives', state],
  ...[minute(createdAt), minute(touchedAt)],
]
