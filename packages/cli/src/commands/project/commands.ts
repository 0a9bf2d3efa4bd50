import type { Command } from 'commander'
import { addExport } from './export.ts'
import { addImport } from './import.ts'
import { addTransfer } from './transfer.ts'
import { addTransfers } from './transfers.ts'

/** `berth project`: what is done with a project as a whole. */
export function addProject(program: Command): void {
  const project = program
    .command('project')
    .description('transfer a project to the cloud and back, export it to a file, import it')
  addTransfer(project)
  addTransfers(project)
  addExport(project)
  addImport(project)
}
