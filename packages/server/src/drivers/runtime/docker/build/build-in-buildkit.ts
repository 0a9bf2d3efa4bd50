import { createHmac } from 'node:crypto'
import { Readable } from 'node:stream'
import { buildCores } from '../../build-cores.ts'
import { BuildFailed, type BuildRequest } from '../../runtime.ts'
import type { BuildSource } from './build-classic.ts'
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
  /** Why its steps can be held to no limit but time; null where they can. */
  limitedByTime: string | null
}

/** The name that the engine has for a build whose files come over the session. */
const fromSession = 'client-session'

/** BuildKit knows the engine's own bridge alone, and no limits: these are put on its steps from outside, where that can be done. */
export async function buildInBuildKit(
  builder: DockerfileBuild,
  { dockerfile, ...context }: BuildSource,
  options: Record<string, unknown>,
  { request, parts, say, abort, limitedByTime }: Building,
): Promise<void> {
  const { engine } = parts
  if (limitedByTime !== null && parts.isStrict)
    throw new BuildFailed(
      'bad_plan',
      `This Dockerfile needs BuildKit, which cannot be held to limits here (${limitedByTime}): write it without RUN --mount, COPY --link and here-documents`,
    )
  const words = 'Building with BuildKit'
  say(limitedByTime === null ? words : `${words}, which is limited by time alone here: ${limitedByTime}`)
  const { cpuCores, memoryMb } = request.allotment
  const limits = { cpuCores, memoryMb, processes: buildProcesses, cores: buildCores() }
  const mark = markOf(request, parts)
  const onBreach = (breach: Breach) => builder.breach(breach)
  const folders = {
    context,
    dockerfile: { folder: context.folder, entries: [], texts: new Map([['Dockerfile', dockerfile]]) },
  }
  const session = await openBuildSession(engine, { findSecret: secretsOf(request, say), folders }, abort)
  let steps: BuildKitSteps | null = null
  try {
    if (limitedByTime === null) steps = await BuildKitSteps.watch(engine, { mark, limits, onBreach })
    builder.writtenBytes = async () => steps?.writtenBytes() ?? 0
    // As a number: told so by a text, the client would open a session of its own.
    const more = { version: 2, session: session.id, remote: fromSession, dockerfile: 'Dockerfile' }
    const hosts = steps ? { extrahosts: `${mark}:127.0.0.1` } : {}
    await parts.cache.during(request.owner.projectId, request.timeoutMs, () =>
      parts.networks.forBuildKit(() =>
        builder.run(Readable.from([]), { ...options, ...more, ...hosts }, () => steps?.hasSeenKills ?? false),
      ),
    )
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
