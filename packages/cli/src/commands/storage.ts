import { contract, type StoragePlace } from '@berth/contract'
import type { Command } from 'commander'
import { connect } from '../credentials.ts'
import { columns, output } from '../output.ts'
import { plainText } from '../plain-text.ts'
import { byteSize } from '../quantities.ts'

/** Disk usage of builds, for operators of the instance. */
export function addStorage(program: Command): void {
  const storage = program
    .command('storage')
    .description('disk use of builds, here and on servers')
    .action(async (_options, command: Command) => {
      const { data } = await connect(command).call(contract.deployments.storage, {})
      output(command).result(data, () => data.places.map(locationText).join('\n\n'))
    })
  storage
    .command('clean-up')
    .description('remove unused artifacts and the build cache')
    .action(async (_options, command: Command) => {
      const { data } = await connect(command).call(contract.deployments.cleanUpStorage, {})
      output(command).result(data, () => `${byteSize(data.freedBytes)} freed\n\n${data.places.map(locationText).join('\n\n')}`)
    })
}

function locationText({ serverId, error, artifactsBytes, cacheBytes, cacheMaxBytes, disk, projects }: StoragePlace): string {
  const name = serverId === null ? 'This machine' : `Server ${serverId}`
  if (error !== null) return `${name}: ${printable(error)}`
  const free = disk ? `, ${byteSize(disk.freeBytes)} of ${byteSize(disk.totalBytes)} free` : ''
  const maxText = cacheMaxBytes === null ? '' : ` of at most ${byteSize(cacheMaxBytes)}`
  const head = `${name}: artifacts ${byteSize(artifactsBytes)}, build cache ${byteSize(cacheBytes)}${maxText}${free}`
  if (projects.length === 0) return head
  const rows = projects.map((project) => [
    printable(project.name ?? `${project.projectId} (deleted)`),
    byteSize(project.artifactsBytes),
    byteSize(project.cacheBytes),
  ])
  return `${head}\n${columns([['PROJECT', 'ARTIFACTS', 'BUILD CACHE'], ...rows])}`
}

/** Names and errors may contain terminal escape sequences. */
const printable = (text: string) => plainText(text, { isTTY: true })
