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
  report: (line: string) => void
  abort: AbortSignal
  /** Why its steps are limited by time alone. Null if all limits apply. */
  limitedByTime: string | null
}

/** Value of `remote` for a build whose files come through the session. */
const fromSession = 'client-session'

/** Builds with BuildKit, which supports only the default bridge and no limits. Limits are applied to its steps from outside. */
export async function buildInBuildKit(
  builder: DockerfileBuild,
  { dockerfile, ...context }: BuildSource,
  options: Record<string, unknown>,
  { request, parts, report: say, abort, limitedByTime }: Building,
): Promise<void> {
  const { engine } = parts
  if (limitedByTime !== null && parts.isStrict)
    throw new BuildFailed(
      'bad_plan',
      `This Dockerfile needs BuildKit, whose resources cannot be limited here (${limitedByTime}). Write it without RUN --mount, COPY --link and here-documents`,
    )
  const message = 'Building with BuildKit'
  say(limitedByTime === null ? message : `${message}, which has only a time limit here: ${limitedByTime}`)
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
    // `version` is a number: with a string, the Docker client would open its own session.
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

/** Marker of the build's steps. It is the same for every build of a service, for the cache, and projects cannot guess it. */
function markOf({ owner: { projectId, environment }, service }: BuildRequest, { cacheKey }: BuildParts): string {
  const name = JSON.stringify([projectId, environment, service])
  return `berth-${createHmac('sha256', cacheKey).update(name).digest('hex').slice(0, 24)}`
}

/** Finds a secret: the project's variable of that name, or of that name in upper case with underscores. */
function secretsOf({ secrets }: BuildRequest, report: (line: string) => void): (id: string) => string | undefined {
  return (id) => {
    const name = [id, id.toUpperCase().replace(/[^A-Z0-9]/g, '_')].find((one) => Object.hasOwn(secrets, one))
    if (name === undefined) report(`The build secret ${id.slice(0, 100)} is not set. Add a variable of that name to the project`)
    return name === undefined ? undefined : secrets[name]
  }
}
