import { contract, type Deployment, type DeploymentStep } from '@berth/contract'
import type { connect } from './credentials.ts'
import { Plain } from './exit-codes.ts'
import type { Output } from './output.ts'

type Client = ReturnType<typeof connect>

/** Shows a deployment as it proceeds. Resolves when it is live; one that is not ends the command with its reason. */
export async function watchDeployment(client: Client, deploymentId: string, say: Output): Promise<Deployment> {
  using _leaving = sayOnInterrupt(deploymentId, say)
  let last: Deployment | undefined
  let lastEventId: string | undefined
  const shown = new Set<string>()
  const show = (steps: readonly DeploymentStep[]) => {
    for (const { name, status } of steps) {
      if (status === 'skipped' || shown.has(name)) continue
      shown.add(name)
      say.note(`▸ ${name}`)
    }
  }
  for (let attempt = 0; attempt < 5 && !isOver(last); attempt++) {
    const events = client.stream(contract.deployments.stream, {
      params: { id: deploymentId },
      ...(lastEventId ? { lastEventId } : {}),
    })
    for await (const { id, event, data } of events) {
      lastEventId = id ?? lastEventId
      if (event === 'step') show([data as DeploymentStep])
      if (event === 'log') say.note(`  ${(data as { message: string }).message}`)
      if (event === 'snapshot' || event === 'complete') last = data as Deployment
      if (event === 'snapshot') show((data as Deployment).steps)
    }
  }
  if (!last || !isOver(last))
    throw new Plain('The stream ended before the deployment did: see how it goes with berth deployments')
  if (last.status !== 'live' && last.status !== 'superseded') throw new Plain(failureOf(last))
  return last
}

/** Ctrl-C ends the watching, not the work. */
function sayOnInterrupt(deploymentId: string, say: Output): Disposable {
  const leave = () => {
    say.note(`\nthe deployment goes on; stop it with: berth cancel ${deploymentId}`)
    process.exit(130)
  }
  process.once('SIGINT', leave)
  return { [Symbol.dispose]: () => void process.off('SIGINT', leave) }
}

const isOver = (deployment: Deployment | undefined) =>
  deployment !== undefined && !['queued', 'building', 'deploying'].includes(deployment.status)

function failureOf({ number, status, error }: Deployment): string {
  const tail = (error?.logTail ?? []).map((line) => `    ${line}`).join('\n')
  return `deployment ${number} ${status}: ${error?.message ?? 'no reason was given'}${tail ? `\n  its last lines:\n${tail}` : ''}`
}
