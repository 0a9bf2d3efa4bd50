import type { Command } from 'commander'
import { addTransfer } from './transfer.ts'

/** `berth project`: what is done with a project as a whole. */
export function addProject(program: Command): void {
  const project = program.command('project').description('move a project')
  addTransfer(project)
}
