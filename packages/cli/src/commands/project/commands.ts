import type { Command } from 'commander'
import { addExport } from './export.ts'
import { addImport } from './import.ts'
import { addTransfer } from './transfer.ts'
import { addTransfers } from './transfers.ts'

/** `berth project`: transfers, exports and imports of projects. */
export function addProject(program: Command): void {
  const project = program
    .command('project')
    .description('transfer a project to the cloud and back, export it to a file, import it')
  addTransfer(project)
  addTransfers(project)
  addExport(project)
  addImport(project)
}
