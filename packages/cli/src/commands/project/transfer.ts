import { contract, type Transfer } from '@berth/contract'
import { spinner } from '@clack/prompts'
import { type Command, Option } from 'commander'
import { connect } from '../../credentials.ts'
import { output } from '../../output.ts'
import { byteSize } from '../../quantities.ts'
import { namedProject } from './named-project.ts'

/** `berth project transfer`: transfers a project to the linked cloud, or back. */
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
        nameOrId: string | undefined,
        { to, withoutData }: { to: 'cloud' | 'here'; withoutData: boolean },
        command: Command,
      ) => {
        const client = connect(command)
        const id = await namedProject(client, nameOrId)
        const row = to === 'cloud' ? contract.projects.transferToCloud : contract.projects.transferToSelfHosted
        const moving = client.call(row, { params: { id }, body: { withData: !withoutData } })
        await watchTransfer(moving, async () => (await client.call(contract.cloud.transfer, { params: { id } })).data, command)
        const { data, warnings } = await moving
        for (const warning of warnings ?? []) output(command).warning(warning)
        const position = data.location === 'cloud' ? 'the cloud' : 'this instance'
        output(command).result(data, () => `${id} now runs in ${position}. The source copy is stopped and kept for 7 days.`)
      },
    )
}

const helpText = `
The project keeps serving until the target has received, checked and built it. Then it stops while recent changes are sent
and the project starts at the target. After a failure it keeps running at the source.
Stopping this command does not stop the transfer: run it again to watch it, or cancel it with berth project transfers.`

const phaseTexts: Record<Transfer['phase'], string> = {
  packing: 'packing',
  sending: 'sending',
  staging: 'building at the target',
  releasing: 'stopping at the source',
  catching_up: 'sending recent changes',
  landing: 'starting at the target',
  committing: 'switching over',
  settling: 'switching over',
  done: 'done',
  undoing: 'rolling back',
  failed: 'failed',
}

const pollIntervalMs = 500

/** Shows the progress until the transfer ends, on a terminal in one line. A failed poll does not fail the transfer. */
async function watchTransfer(moving: Promise<unknown>, check: () => Promise<Transfer | null>, command: Command): Promise<void> {
  const progress = process.stderr.isTTY && !command.optsWithGlobals().json ? spinner({ output: process.stderr }) : undefined
  let hasEnded = false
  const end = () => {
    hasEnded = true
  }
  const ended = moving.then(end, end)
  let lastText = ''
  progress?.start('starting')
  while (!hasEnded) {
    const transfer = await check().catch(() => null)
    const text = transfer ? describe(transfer) : lastText
    if (text !== lastText && progress) progress.message(text)
    else if (text.split(',')[0] !== lastText.split(',')[0]) output(command).note(`▸ ${text.split(',')[0]}`)
    lastText = text
    await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, pollIntervalMs))])
  }
  progress?.stop(lastText || 'ended')
}

function describe({ phase, bytesDone, bytesTotal }: Transfer): string {
  const isSending = phase === 'sending' || phase === 'catching_up'
  return isSending && bytesTotal ? `${phaseTexts[phase]}, ${byteSize(bytesDone)} of ${byteSize(bytesTotal)}` : phaseTexts[phase]
}
