import { createHmac } from 'node:crypto'
import { buildCores } from '../../build-cores.ts'
import { BuildFailed, type BuildRequest } from '../../runtime.ts'
import { buildProcesses } from './build-container.ts'
import type { BuildParts } from './build-parts.ts'
import { openBuildSession } from './build-session.ts'
import { type Breach, BuildKitSteps } from './buildkit-steps.ts'
import type { DockerfileBuild } from './dockerfile-build.ts'

interface Building {
  request: BuildRequest
  parts: BuildParts
  say: (line: string) => void
  abort: AbortSignal
}

/** BuildKit knows the engine's own bridge alone, and no limits: these are put on its steps from outside, where that can be done. */
export async function buildInBuildKit(
  builder: DockerfileBuild,
  tar: NodeJS.ReadableStream,
  options: Record<string, unknown>,
  { request, parts, say, abort }: Building,
): Promise<void> {
  const { engine } = parts
  const whyNot = await BuildKitSteps.whyNot(engine)
  if (whyNot !== null && parts.isStrict)
    throw new BuildFailed(
      'bad_plan',
      `This Dockerfile needs BuildKit, which cannot be held to limits here (${whyNot}): write it without RUN --mount, COPY --link and here-documents`,
    )
  say(whyNot === null ? 'Building with BuildKit' : `Building with BuildKit, which is limited by time alone here: ${whyNot}`)
  const { cpuCores, memoryMb } = request.allotment
  const limits = { cpuCores, memoryMb, processes: buildProcesses, cores: buildCores() }
  const mark = markOf(request, parts)
  const onBreach = (breach: Breach) => builder.breach(breach)
  const session = await openBuildSession(engine, secretsOf(request, say), abort)
  let steps: BuildKitSteps | null = null
  try {
    if (whyNot === null) steps = await BuildKitSteps.watch(engine, { mark, limits, onBreach })
    // As a number: told so by a text, the client would open a session of its own.
    const more = { version: 2, session: session.id, ...(steps ? { extrahosts: `${mark}:127.0.0.1` } : {}) }
    await builder.run(tar, { ...options, ...more }, () => steps?.hasSeenKills ?? false)
  } finally {
    steps?.end()
    session.close()
  }
}

/** The same for every build of a service, so that what was built before is found again; nobody else can know it. */
function markOf({ owner: { projectId, environment }, service }: BuildRequest, { cacheKey }: BuildParts): string {
  const name = JSON.stringify([projectId, environment, service])
  return `berth-${createHmac('sha256', cacheKey).update(name).digest('hex').slice(0, 24)}`
}

/** A secret is the project's variable of that name, or of that name as variables are written. */
function secretsOf({ secrets }: BuildRequest, say: (line: string) => void): (id: string) => string | undefined {
  return (id) => {
    const name = [id, id.toUpperCase().replace(/[^A-Z0-9]/g, '_')].find((one) => Object.hasOwn(secrets, one))
    if (name === undefined) say(`There is no variable ${id.slice(0, 100)} for the secret of that name: set one on the project`)
    return name === undefined ? undefined : secrets[name]
  }
}
