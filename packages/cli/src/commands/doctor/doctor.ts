import type { Command } from 'commander'
import { environment } from '../../environment.ts'
import { columns, output } from '../../output.ts'
import { loadServer, readSettings } from '../../server-commands.ts'
import { type Finding, runChecks } from './checks.ts'

/** Adds `berth doctor`: it reads the machine and the settings, and works while the instance runs and while it does not. */
export function addDoctor(program: Command): void {
  program
    .command('doctor')
    .description('check this machine and the settings, and say how to correct each problem; exit code 1 if a check fails')
    .action(async (_options, command: Command) => {
      const server = await loadServer()
      const findings = await runChecks(readSettings(server, environment.all()))
      const hasFailed = findings.some(({ status }) => status === 'fail')
      output(command).result({ ok: !hasFailed, findings }, () => columns(findings.flatMap(lines)))
      if (hasFailed) process.exitCode = 1
    })
}

const lines = ({ status, check, message, fix }: Finding): string[][] => [
  [status.padEnd(4), check, message],
  ...(fix ? [['', '', `→ ${fix}`]] : []),
]
