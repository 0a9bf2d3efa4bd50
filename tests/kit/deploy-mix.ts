import { setTimeout as pause } from 'node:timers/promises'
import type { Deployment } from '@berth/contract'
import { type Hosting, isOver, keepRequesting, type Load, serving, writeApp } from './hosting.ts'

/** Kinds of deployments in the order in which they are run: some succeed, the others fail each in its own way. */
export const mix = ['good', 'crashing', 'slow', 'unhealthy', 'cancelled', 'good'] as const
export type Manner = (typeof mix)[number]

const sources: Record<Manner, (text: string) => string> = {
  good: (text) => serving(text),
  slow: (text) => serving(text, { afterMs: 1500 }),
  crashing: () => `console.error('no database'); process.exit(3)`,
  unhealthy: () => serving('broken', { status: 500 }),
  cancelled: (text) => serving(text, { afterMs: 60_000 }),
}

export interface MixResult {
  outcomes: { manner: Manner; deployment: Deployment; servedAfter: string; seconds: number }[]
  load: Load
}

/** Deploys one project repeatedly under constant load, with each kind of deployment in turn. */
export async function deployUnderLoad(hosting: Hosting, count: number, { everyMs = 5, ...more } = {}): Promise<MixResult> {
  const name = 'mix'
  const folder = `${hosting.folder}/${name}`
  await writeApp(folder, serving('version 0'))
  const project = await hosting.makeProject({
    name,
    localPath: folder,
    startCommand: 'node server.js',
    healthCheck: { path: '/' },
    ...more,
  })
  const first = await hosting.settled(await hosting.deploy(project.id))
  if (first.status !== 'live') throw new Error(`the first deployment is not live: ${JSON.stringify(first.error)}`)
  const host = `${project.slug}.localhost`
  const requests = keepRequesting(hosting.berth.edgeUrl, host, { everyMs })
  const outcomes: MixResult['outcomes'] = []
  try {
    for (let at = 1; at <= count; at++) {
      const manner = mix[(at - 1) % mix.length] as Manner
      await writeApp(folder, sources[manner](`version ${at}`))
      // Only a deployment that never becomes healthy may reach its time limit, however busy the machine is.
      const healthCheck = { path: '/', timeoutSeconds: manner === 'unhealthy' ? 3 : 90 }
      await hosting.api('PATCH', `/projects/${project.id}`, { healthCheck })
      const begun = performance.now()
      const id = await hosting.deploy(project.id)
      if (manner === 'cancelled') {
        await hosting.settled(id, (found) => found.status === 'deploying' || isOver(found))
        await pause(200)
        await hosting.api('POST', `/deployments/${id}/cancel`)
      }
      const deployment = await untilOldStopped(hosting, id)
      const seconds = (performance.now() - begun) / 1000
      outcomes.push({ manner, deployment, servedAfter: (await hosting.get(host)).text, seconds })
    }
  } finally {
    await requests.stop()
  }
  return { outcomes, load: requests.load }
}

const expected: Record<Manner, Deployment['status']> = {
  good: 'live',
  slow: 'live',
  crashing: 'failed',
  unhealthy: 'failed',
  cancelled: 'cancelled',
}

/** Problems of a mix, as text: no request may fail, and a failed deployment must leave the old version serving. */
export function problemsOf({ outcomes, load }: MixResult): string[] {
  const problems = load.failures.map((failure) => `a request failed: ${failure}`)
  if (load.bodies.has('broken')) problems.push('a version that was never healthy was served')
  let serving = 'version 0'
  for (const [at, { manner, deployment, servedAfter }] of outcomes.entries()) {
    const { status, error, requestsDuringSwitch: during } = deployment
    const report = (message: string) => problems.push(`${at + 1} (${manner}): ${message}`)
    if (status !== expected[manner]) report(`ended as ${status}, expected ${expected[manner]}: ${JSON.stringify(error)}`)
    if (expected[manner] === 'live') {
      serving = `version ${at + 1}`
      if (!during || during.failed > 0) report(`requests during the switch: ${JSON.stringify(during)}`)
    } else if (during) report(`recorded a switch although it never went live: ${JSON.stringify(during)}`)
    if (servedAfter !== serving) report(`afterwards the project served "${servedAfter}", expected "${serving}"`)
  }
  // A switch lasts some milliseconds: on a busy machine a single switch may get no request, but not all of them.
  if (!outcomes.some(({ deployment }) => deployment.requestsDuringSwitch?.total)) problems.push('no switch counted a request')
  return problems
}

/** Resolves once the deployment has ended and, if it is live, the old version is drained and stopped: its figures are complete then. */
async function untilOldStopped(hosting: Hosting, id: string): Promise<Deployment> {
  const deployment = await hosting.settled(id)
  if (deployment.status !== 'live') return deployment
  return hosting.settled(id, ({ steps }) => steps.find(({ name }) => name === 'retire')?.status === 'succeeded')
}
