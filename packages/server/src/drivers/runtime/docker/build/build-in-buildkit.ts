import { createHmac } from 'node:crypto'
import { Readable } from 'node:stream'
import { buildCores } from '../../build-cores.ts'
import type { BuildRequest } from '../../runtime.ts'
import { BuildFailed } from '../../runtime-errors.ts'
import type { BuildSource } from './build-classic.ts'
import { maxBuildProcesses } from './build-container.ts'
import type { BuildParts } from './build-parts.ts'
import { openBuildSession } from './build-session.ts'
import { BuildKitSteps, type ExceededLimit } from './buildkit-steps.ts'
import type { DockerfileBuild } from './dockerfile-build.ts'

interface BuildKitContext {
  request: BuildRequest
  parts: BuildParts
  report: (line: string) => void
  abort: AbortSignal
  /** Reason why the steps have only a time limit. Null if all limits apply. */
  onlyTimeLimitReason: string | null
}

/** Value of `remote` for a build whose files come through the session. */
const sessionRemote = 'client-session'

/** Builds with BuildKit, which supports only the default bridge and no limits. Limits are applied to its steps from outside. */
export async function buildInBuildKit(
  builder: DockerfileBuild,
  { dockerfile, ...context }: BuildSource,
  options: Record<string, unknown>,
  { request, parts, report, abort, onlyTimeLimitReason }: BuildKitContext,
): Promise<void> {
  const { engine } = parts
  if (onlyTimeLimitReason !== null && parts.isStrict)
    throw new BuildFailed(
      'bad_plan',
      `This Dockerfile needs BuildKit, whose resources cannot be limited here (${onlyTimeLimitReason}). Write it without RUN --mount, COPY --link and here-documents`,
    )
  const message = 'Building with BuildKit'
  report(onlyTimeLimitReason === null ? message : `${message}, which has only a time limit here: ${onlyTimeLimitReason}`)
  const { cpuCores, memoryMb } = request.resources
  const limits = { cpuCores, memoryMb, processes: maxBuildProcesses, cores: buildCores() }
  const marker = stepMarkerOf(request, parts)
  const onLimitExceeded = (limit: ExceededLimit) => builder.stopForLimit(limit)
  const folders = {
    context,
    dockerfile: { folder: context.folder, entries: [], texts: new Map([['Dockerfile', dockerfile]]) },
  }
  const session = await openBuildSession(engine, { findSecret: secretFinder(request, report), folders }, abort)
  let steps: BuildKitSteps | null = null
  try {
    if (onlyTimeLimitReason === null) steps = await BuildKitSteps.watch(engine, { marker, limits, onLimitExceeded })
    builder.writtenBytes = async () => steps?.writtenBytes() ?? 0
    // `version` is a number: with a string, the Docker client would open its own session.
    const sessionOptions = { version: 2, session: session.id, remote: sessionRemote, dockerfile: 'Dockerfile' }
    const extraHosts = steps ? { extrahosts: `${marker}:127.0.0.1` } : {}
    await parts.cache.trackBuild(request.owner.projectId, request.timeoutMs, () =>
      parts.networks.withoutMetadataAccess(() =>
        builder.run(Readable.from([]), { ...options, ...sessionOptions, ...extraHosts }, () => steps?.hasOomKills ?? false),
      ),
    )
  } finally {
    steps?.end()
    session.close()
  }
}

/** Marker of the build's steps. Every build of a service has the same one, so that the cache works. Projects cannot guess it. */
function stepMarkerOf({ owner: { projectId, environment }, service }: BuildRequest, { cacheKey }: BuildParts): string {
  const name = JSON.stringify([projectId, environment, service])
  return `berth-${createHmac('sha256', cacheKey).update(name).digest('hex').slice(0, 24)}`
}

/** Finds a secret: the project's variable of that name, or of that name in upper case with underscores. */
function secretFinder({ secrets }: BuildRequest, report: (line: string) => void): (id: string) => string | undefined {
  return (id) => {
    const name = [id, id.toUpperCase().replace(/[^A-Z0-9]/g, '_')].find((one) => Object.hasOwn(secrets, one))
    if (name === undefined) report(`The build secret ${id.slice(0, 100)} is not set. Add a variable of that name to the project`)
    return name === undefined ? undefined : secrets[name]
  }
}
