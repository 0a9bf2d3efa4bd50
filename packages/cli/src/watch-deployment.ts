import { contract, type Deployment, type DeploymentLogLine, type DeploymentStep } from '@berth/contract'
import type { connect } from './credentials.ts'
import { CliError } from './exit-codes.ts'
import type { Output } from './output.ts'
import { durationText } from './quantities.ts'

type Client = ReturnType<typeof connect>

/** Shows the progress of a deployment. Resolves when it is live; if it fails, the command ends with the reason. */
export async function watchDeployment(client: Client, deploymentId: string, print: Output): Promise<Deployment> {
  using _interruptHandler = printOnInterrupt(deploymentId, print)
  let last: Deployment | undefined
  let lastEventId: string | undefined
  const { step, line, hasPrinted } = createStepPrinter(print)
  let stepTimer: NodeJS.Timeout | undefined
  for (let attempt = 0; attempt < 5 && !hasEnded(last); attempt++) {
    const events = client.stream(contract.deployments.stream, {
      params: { id: deploymentId },
      ...(lastEventId ? { lastEventId } : {}),
    })
    for await (const { id, event, data } of events) {
      lastEventId = id ?? lastEventId
      if (event === 'step') step(data as DeploymentStep)
      if (event === 'log') line(data as DeploymentLogLine)
      if (event === 'snapshot' || event === 'complete') last = data as Deployment
      if (event === 'snapshot') {
        // The log lines of earlier steps arrive now, each with its step; a running step may have no lines yet.
        const runningSteps = (data as Deployment).steps.filter(({ status }) => status === 'running')
        clearTimeout(stepTimer)
        stepTimer = setTimeout(() => runningSteps.forEach(step), 1_000)
      }
    }
  }
  clearTimeout(stepTimer)
  if (!last || !hasEnded(last)) throw new CliError('The connection was lost. See the state with berth deployments.')
  if (last.status !== 'live' && last.status !== 'superseded')
    throw new CliError(failureOf(last, hasPrinted) + (await stillServing(client, last).catch(() => '')))
  return last
}

/** The end of a deployment that succeeded: its address, unless it is a worker, and how long it took. */
export function liveText({ url, createdAt, finishedAt }: Deployment, event = 'live'): string {
  const duration = finishedAt ? ` after ${durationText(Date.parse(finishedAt) - Date.parse(createdAt))}` : ''
  return `${event}${url ? ` at ${url}` : ''}${duration}`
}

/** Prints each step's name before its lines, even if a line arrives before the event that the step has begun. */
function createStepPrinter(print: Output) {
  const printedSteps = new Set<string>()
  const printedLines = new Set<string>()
  let lastLine = ''
  const printHeading = (name: string) => {
    if (!printedSteps.has(name)) print.note(`▸ ${name}`)
    printedSteps.add(name)
  }
  return {
    step({ name, status, startedAt }: DeploymentStep) {
      // The clean-up after the switch is shown only if it writes a line.
      const isPast = printedSteps.has('switch') || (startedAt ?? '') < lastLine
      if (status !== 'skipped' && !isPast) printHeading(name)
    },
    line({ step, time, message }: DeploymentLogLine) {
      lastLine = time
      if (print.showsNotes) printedLines.add(message)
      if (step) printHeading(step)
      print.note(step ? `  ${message}` : message)
    },
    hasPrinted: (message: string) => printedLines.has(message),
  }
}

async function stillServing(client: Client, { projectId, environment }: Deployment): Promise<string> {
  const query = { environment, status: 'live', limit: 1 } as const
  const { data } = await client.call(contract.projects.listDeployments, { params: { id: projectId }, query })
  return data[0] ? `\n  deployment ${data[0].number} still serves requests` : ''
}

/** Ctrl-C stops watching, not the deployment. */
function printOnInterrupt(deploymentId: string, print: Output): Disposable {
  const onInterrupt = () => {
    print.note(`\nthe deployment continues; cancel it with: berth cancel ${deploymentId}`)
    process.exit(130)
  }
  process.once('SIGINT', onInterrupt)
  return { [Symbol.dispose]: () => void process.off('SIGINT', onInterrupt) }
}

const hasEnded = (deployment: Deployment | undefined) =>
  deployment !== undefined && !['queued', 'building', 'deploying'].includes(deployment.status)

/** The error with the project's last log lines, unless they were just shown. */
function failureOf({ number, status, error }: Deployment, hasPrinted: (line: string) => boolean): string {
  const lines = error?.logTail ?? []
  const tail = lines.every(hasPrinted) ? '' : lines.map((line) => `    ${line}`).join('\n')
  return `deployment ${number} ${status}: ${error?.message ?? 'no reason given'}${tail ? `\n  its last lines:\n${tail}` : ''}`
}
