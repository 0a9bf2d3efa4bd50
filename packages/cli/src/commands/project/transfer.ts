import { contract, type Transfer } from '@berth/contract'
import { spinner } from '@clack/prompts'
import { type Command, Option } from 'commander'
import { connect } from '../../credentials.ts'
import { output } from '../../output.ts'
import { byteSize } from '../../quantities.ts'
import { namedProject } from './named-project.ts'

/** `berth project transfer`: to the cloud that this instance is linked to, or back. */
export function addTransfer(project: Command): void {
  project
    .command('transfer [project]')
    .description('transfer a project to the linked cloud, or back here; its id stays the same')
    .addOption(new Option('--to <place>', 'target of the transfer').choices(['cloud', 'here']).makeOptionMandatory())
    .option('--without-data', 'do not transfer its volumes', false)
    .addOption(new Option('--with-data', 'the default').hideHelp())
    .addHelpText('after', helpText)
    .action(
      async (
        given: string | undefined,
        { to, withoutData }: { to: 'cloud' | 'here'; withoutData: boolean },
        command: Command,
      ) => {
        const client = connect(command)
        const id = await namedProject(client, given)
        const row = to === 'cloud' ? contract.projects.transferToCloud : contract.projects.transferToSelfHosted
        const moving = client.call(row, { params: { id }, body: { withData: !withoutData } })
        await watched(moving, async () => (await client.call(contract.cloud.transfer, { params: { id } })).data, command)
        const { data, warnings } = await moving
        for (const warning of warnings ?? []) output(command).warning(warning)
        const position = data.location === 'cloud' ? 'the cloud' : 'this instance'
        output(command).result(data, () => `${id} now runs in ${position}. The source copy is stopped and kept for 7 days.`)
      },
    )
}

const helpText = `
It goes on serving until the other side has everything, has checked it and has built it; then it stops for as long as it
takes to send what changed, to start and to get healthy. A failure changes nothing: it serves where it was.
Stopping this command does not stop the move: run it again to watch it, or call it off with berth project transfers.`

const words: Record<Transfer['phase'], string> = {
  packing: 'packing',
  sending: 'sending',
  staging: 'building there',
  releasing: 'stopping here',
  catching_up: 'sending recent changes',
  landing: 'starting there',
  committing: 'switching over',
  settling: 'switching over',
  done: 'done',
  undoing: 'rolling back',
  failed: 'failed',
}

const pollIntervalMs = 500

/** Says what is being done until it is over, on a terminal in one line. What cannot be asked for is no failure of the move. */
async function watched(moving: Promise<unknown>, check: () => Promise<Transfer | null>, command: Command): Promise<void> {
  const shown = process.stderr.isTTY && !command.optsWithGlobals().json ? spinner({ output: process.stderr }) : undefined
  let isOver = false
  const end = () => {
    isOver = true
  }
  const over = moving.then(end, end)
  let reported = ''
  shown?.start('asking')
  while (!isOver) {
    const transfer = await check().catch(() => null)
    const text = transfer ? describe(transfer) : reported
    if (text !== reported && shown) shown.message(text)
    else if (text.split(',')[0] !== reported.split(',')[0]) output(command).note(`▸ ${text.split(',')[0]}`)
    reported = text
    await Promise.race([over, new Promise((resolve) => setTimeout(resolve, pollIntervalMs))])
  }
  shown?.stop(reported || 'over')
}

function describe({ phase, bytesDone, bytesTotal }: Transfer): string {
  const isSending = phase === 'sending' || phase === 'catching_up'
  return isSending && bytesTotal ? `${words[phase]}, ${byteSize(bytesDone)} of ${byteSize(bytesTotal)}` : words[phase]
}
