import { contract } from '@berth/contract'
import type { Command } from 'commander'
import { connect } from '../credentials.ts'
import { CliError } from '../exit-codes.ts'
import { columns, output } from '../output.ts'
import { projectIdOf, projectOption } from '../project-link.ts'
import { byteSize } from '../quantities.ts'

/** `berth volumes …`: the volumes of a project, including copies created by restores. */
export function addVolumes(program: Command): void {
  const volumes = program.command('volumes').description('list, unmount and remove volumes of a project')
  volumes
    .command('list', { isDefault: true })
    .description('volumes with their size, mount path and the backup run that a copy is from')
    .option(...projectOption)
    .action(async (_options, command: Command) => {
      const { data } = await connect(command).call(contract.deployments.listVolumes, { params: { id: projectIdOf(command) } })
      const rows = data.map(({ id, name, environment, sizeBytes, mountPath, restoredFrom }) => [
        id,
        name,
        environment,
        sizeBytes === null ? '-' : byteSize(sizeBytes),
        mountPath ?? 'not mounted',
        restoredFrom ? `copy of ${restoredFrom}` : '',
      ])
      output(command).result(data, () =>
        data.length === 0
          ? 'No volumes. Add one with `berth deploy --volume <name>:<path>`.'
          : columns([['ID', 'NAME', 'ENVIRONMENT', 'SIZE', 'MOUNTED AT', ''], ...rows]),
      )
    })
  volumes
    .command('unmount <volume>')
    .description('stop mounting a volume, with the next deployment; its data is kept')
    .option(...projectOption)
    .action(async (name: string, _options, command: Command) => {
      const client = connect(command)
      const params = { id: projectIdOf(command) }
      const { data: project } = await client.call(contract.projects.get, { params })
      const mounted = project.config.volumes ?? []
      if (!mounted.some((volume) => volume.name === name))
        throw new CliError(`The settings of ${project.name} have no volume ${name}. List its volumes with berth volumes list.`, 5)
      const config = { volumes: mounted.filter((volume) => volume.name !== name) }
      const { data } = await client.call(contract.projects.update, { params, body: config })
      output(command).result(
        data,
        () => `The next deployment no longer mounts ${name}; start one with berth redeploy. Its data is kept.`,
      )
    })
  volumes
    .command('remove <volume>')
    .description('delete an unmounted volume and its data')
    .option(...projectOption)
    .option('-y, --yes', 'skip the confirmation')
    .action(async (volumeRef: string, { yes }: { yes?: boolean }, command: Command) => {
      const client = connect(command)
      const id = projectIdOf(command)
      const { data } = await client.call(contract.deployments.listVolumes, { params: { id }, query: { limit: 500 } })
      const found = data.filter((volume) => volume.id === volumeRef || volume.name === volumeRef)
      const [volume] = found
      if (!volume) throw new CliError(`The project has no volume ${volumeRef}. List its volumes with berth volumes list.`, 5)
      if (found.length > 1) throw new CliError(`Several environments have a volume ${volumeRef}. Use its id instead.`, 2)
      if (!yes) throw new CliError(`This deletes ${volume.name} with its data. Add --yes to confirm.`, 2)
      await client.call(contract.deployments.removeVolume, { params: { id, volumeId: volume.id } })
      output(command).result(volume, () => `${volume.name} (${volume.id}) is deleted`)
    })
}
