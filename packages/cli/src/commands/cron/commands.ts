import { type CronJob, type CronRun, contract } from '@berth/contract'
import type { Command } from 'commander'
import { type Connection, connect } from '../../credentials.ts'
import { CliError } from '../../exit-codes.ts'
import { columns, minute, minuteUtc, output } from '../../output.ts'
import { plainText } from '../../plain-text.ts'
import { projectIdOf, projectOption } from '../../project-link.ts'
import { waitForRun } from './wait-for-run.ts'

interface AddOptions {
  schedule: string
  environment?: string
  timezone?: string
  timeout?: string
  overlap?: 'skip' | 'queue'
}

/** `berth cron …`: scheduled tasks. A task is named by its id or its name. */
export function addCron(program: Command): void {
  const cron = program.command('cron').description('manage scheduled tasks of the project')
  const common = (command: Command) => command.option(...projectOption)

  common(cron.command('list', { isDefault: true }).description('list tasks with their next and last run')).action(
    async (_options, command: Command) => {
      const data = await allTasks(command)
      output(command).result(data, () => (data.length === 0 ? 'No scheduled tasks. Add one with berth cron add.' : table(data)))
    },
  )

  common(cron.command('add <name> <command...>').description('add a task; put its command after --'))
    .requiredOption('--schedule <cron>', 'cron expression of five fields, or @daily')
    .option('--environment <environment>', 'environment whose live version runs it (default: production)')
    .option('--timezone <zone>', 'time zone of the schedule (default: UTC)')
    .option('--timeout <seconds>', 'stop a run after this time (default: 3600)')
    .option('--overlap <policy>', 'while a run is in progress: skip or queue the next one (default: skip)')
    .action(async (name: string, words: string[], options: AddOptions, command: Command) => {
      const { schedule, environment, timezone, timeout, overlap } = options
      const body = {
        name,
        schedule,
        // A single argument is a command line; several are its words.
        command: words.length === 1 ? (words[0] as string) : words,
        ...(environment ? { environment } : {}),
        ...(timezone ? { timezone } : {}),
        ...(timeout ? { timeoutSeconds: Number(timeout) } : {}),
        ...(overlap ? { overlap } : {}),
      }
      const { data } = await connect(command).call(contract.tasks.create, { params: { id: projectIdOf(command) }, body })
      output(command).result(data, () => `added ${data.name} (${data.id}); next run ${timeOf(data.nextRunAt)}`)
    })

  common(cron.command('remove <task>').description('delete a task and its history; a run in progress is stopped')).action(
    async (taskRef: string, _options, command: Command) => {
      const { id: cronJobId, name } = await findTask(command, taskRef)
      await connect(command).call(contract.tasks.remove, { params: { id: projectIdOf(command), cronJobId } })
      output(command).result({ removed: cronJobId }, () => `${name} (${cronJobId}) is deleted`)
    },
  )

  common(cron.command('run <task>').description('run a task now, print its output and wait for its end'))
    .option('--no-wait', 'return as soon as the run is queued')
    .addHelpText('after', '\nThe exit code is 1 if the run does not succeed.')
    .action(async (taskRef: string, { wait }: { wait: boolean }, command: Command) => {
      const client = connect(command)
      const params = { id: projectIdOf(command), cronJobId: (await findTask(command, taskRef)).id }
      const { data: run } = await client.call(contract.tasks.run, { params })
      if (!wait) return output(command).result(run, () => `queued ${run.id}`)
      const ended = await waitForRun(client, run.id, output(command).showsNotes ? print : () => undefined)
      output(command).result(ended, () => runText(ended))
      if (ended.status !== 'succeeded') throw new CliError(ended.error ?? `The run ended as ${ended.status}`)
    })

  common(cron.command('logs <task>').description('print the output of the last run, or of one run'))
    .option('--run <run>', 'id of the run')
    .option('--history', 'list the runs instead')
    .action(async (taskRef: string, { run: runRef, history }: { run?: string; history?: boolean }, command: Command) => {
      const client = connect(command)
      const params = { id: projectIdOf(command), cronJobId: (await findTask(command, taskRef)).id }
      const { data: runs } = await client.call(contract.tasks.runs, { params, query: { limit: history ? 100 : 500 } })
      if (history) return output(command).result(runs, () => historyTable(runs))
      const run = runs.find(({ id, startedAt }) => (runRef === undefined ? startedAt !== null : id === runRef))
      if (!run) throw new CliError(runRef ? `The task has no run ${runRef}.` : 'The task has not run yet.', 5)
      await printLogs(client, run.id, command.optsWithGlobals().json === true)
    })
}

const allTasks = async (command: Command): Promise<CronJob[]> => {
  const input = { params: { id: projectIdOf(command) }, query: { limit: 500 } }
  return (await connect(command).call(contract.tasks.list, input)).data
}

async function findTask(command: Command, taskRef: string): Promise<CronJob> {
  const found = (await allTasks(command)).filter(({ id, name }) => id === taskRef || name === taskRef)
  const [task] = found
  if (!task) throw new CliError(`The project has no task ${taskRef}. List its tasks with berth cron list.`, 5)
  if (found.length > 1) throw new CliError(`Several tasks are named ${taskRef}. Use an id instead.`, 2)
  return task
}

const print = (message: string) => void process.stdout.write(`${plainText(message, process.stdout)}\n`)

async function printLogs(client: Connection, runId: string, json: boolean): Promise<void> {
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const query = { limit: 500, ...(cursor ? { cursor } : {}) }
    const { data, nextCursor } = await client.call(contract.tasks.runLogs, { params: { id: runId }, query })
    for (const line of data) print(json ? JSON.stringify(line) : line.message)
    cursor = nextCursor
  }
}

const timeOf = (time: string | null) => (time ? minuteUtc(time) : 'never')
const commandText = (command: CronJob['command']) => (typeof command === 'string' ? command : command.join(' '))
const exitText = ({ exitCode }: CronRun) => (exitCode === null ? '' : `exit code ${exitCode}`)
const runText = (run: CronRun) => [run.id, run.status, exitText(run)].filter(Boolean).join('  ')

const table = (tasks: readonly CronJob[]) =>
  columns([
    ['ID', 'NAME', 'SCHEDULE', 'ENVIRONMENT', 'NEXT RUN', 'LAST RUN', 'COMMAND'],
    ...tasks.map((task) => [
      task.id,
      task.name,
      task.timezone === 'UTC' ? task.schedule : `${task.schedule} ${task.timezone}`,
      task.environment,
      task.enabled ? timeOf(task.nextRunAt) : 'disabled',
      task.lastRun?.status ?? 'never',
      commandText(task.command),
    ]),
  ])

const historyTable = (runs: readonly CronRun[]) =>
  columns([
    ['RUN', 'STATUS', 'TRIGGER', 'CREATED', 'EXIT CODE', ''],
    ...runs.map((run) => [
      run.id,
      run.status,
      run.trigger,
      minute(run.createdAt),
      run.exitCode === null ? '' : String(run.exitCode),
      run.error ?? '',
    ]),
  ])
