import { contract } from '@berth/contract'
import { text } from '@clack/prompts'
import type { Command } from 'commander'
import { connect } from '../credentials.ts'
import { CliError } from '../exit-codes.ts'
import { columns, output } from '../output.ts'
import { linkedFolder, projectIdOf, projectOption, removeLink } from '../project-link.ts'
import { ask } from '../prompt.ts'

interface Options {
  project?: string
  yes?: boolean
  force?: boolean
  volumes?: boolean
}

export function addDelete(program: Command): void {
  program
    .command('delete')
    .description('delete the project; shows what is deleted and what is kept, then asks for confirmation')
    .option(...projectOption)
    .option('--yes', 'skip the confirmation')
    .option('--force', 'cancel running operations first')
    .option('--volumes', 'also delete its volumes and their data')
    .action(async (options: Options, command: Command) => {
      const client = connect(command)
      const params = { id: projectIdOf(command) }
      const [{ data: project }, { data: preview }] = await Promise.all([
        client.call(contract.projects.get, { params }),
        client.call(contract.projects.deletionPreview, { params }),
      ])
      output(command).note(
        columns(
          // Volumes that existed before the project are always kept; their reason does not mention `deleteVolumes`.
          preview.items.map(({ kind, name, kept, reason }) => [
            kept && !(options.volumes && reason?.includes('deleteVolumes')) ? 'keep' : 'delete',
            kind,
            name,
          ]),
        ),
      )
      if (!options.yes) await confirm(project.name)
      const { data } = await client.call(contract.projects.remove, {
        params,
        query: { ...(options.force ? { force: true } : {}), ...(options.volumes ? { deleteVolumes: true } : {}) },
      })
      const folder = options.project ? null : linkedFolder('.')
      if (folder) removeLink(folder)
      output(command).result(data, () => `${project.name} is deleted`)
    })
}

async function confirm(name: string): Promise<void> {
  const answer = await ask(() => text({ message: `Type ${name} to delete it` }), '--yes')
  if (answer !== name) throw new CliError('The name does not match. Nothing was deleted.')
}
