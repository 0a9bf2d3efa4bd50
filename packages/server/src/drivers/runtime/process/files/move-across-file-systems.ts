import { spawnSync } from 'node:child_process'
import { renameSync, rmSync } from 'node:fs'
import { fixedEnvironment, systemProgram } from '../sandbox/system-programs.ts'

/** Moves a folder to another file system, with owners and modes, atomically. */
export function moveAcrossFileSystems(from: string, to: string): void {
  const draft = `${to}.draft`
  rmSync(draft, { recursive: true, force: true })
  const copied = spawnSync(systemProgram('cp') ?? '/bin/cp', ['-a', '--', from, draft], { env: fixedEnvironment })
  if (copied.status !== 0) throw new Error(`${from} could not be copied to ${to}: ${copied.stderr}`)
  renameSync(draft, to)
  rmSync(from, { recursive: true, force: true })
}
