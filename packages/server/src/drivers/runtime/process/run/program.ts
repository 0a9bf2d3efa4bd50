import { existsSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { appFolder, isBelow, normalMountPath } from '../../mount-path.ts'
import type { StartRequest } from '../../runtime.ts'
import { ArtifactMissing, StartFailed } from '../../runtime-errors.ts'
import { type BuildParts, searchPath } from '../build/build.ts'
import { argvOfCommand } from '../build/command-words.ts'
import { type ArtifactRecord, readArtifactRecord } from '../files/artifact.ts'
import { refuseReserved } from '../files/mount-path.ts'
import type { Paths } from '../files/paths.ts'
import { listenOnPortInstead } from '../ports/taken-port.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import { ToolUnavailable } from '../tools/tool-unavailable.ts'
import { volumeVariable } from './project-environment.ts'
import type { Program } from './supervisor.ts'

/** Command, environment and folders of an instance of an artifact. */
export async function programFor(
  request: StartRequest,
  { paths, sandbox, baseEnv, toolbox }: BuildParts,
  abort: AbortSignal,
): Promise<Program> {
  const { artifact, owner, instanceId, port } = request
  if (artifact.kind !== 'folder')
    throw new StartFailed('An image needs the docker runtime; this instance runs projects as plain processes')
  const folder = paths.artifactOf(artifact.reference)
  const record = folder && (await readArtifactRecord(folder))
  if (!folder || !record) throw new ArtifactMissing('The artifact of this deployment no longer exists')
  const argv = request.command ?? (artifact.startCommand ? argvOfCommand(artifact.startCommand) : null)
  if (!argv) throw new StartFailed('No start command was found. Set one (startCommand).')
  const app = join(folder, 'app')
  const home = paths.home(owner, folder)
  const seenAt = sandbox.kind === 'bubblewrap' ? (record.seenAt ?? sandbox.pathInside(app)) : sandbox.pathInside(app)
  const cwd = join(seenAt, record.rootDirectory)
  const tools = await toolbox.ofArtifact(record.tools ?? [], abort).catch((error: unknown) => {
    throw error instanceof ToolUnavailable
      ? new StartFailed(`The language runtime of the project is no longer installed: ${error.message}`)
      : error
  })
  const volumes = volumesOf(request, paths, sandbox, seenAt)
  const env = {
    ...baseEnv,
    HOME: sandbox.pathInside(home),
    PWD: cwd,
    PATH: searchPath(cwd, sandbox, baseEnv, tools.path),
    NODE_ENV: 'production',
    ...(port === null ? {} : { HOST: '127.0.0.1' }),
    ...Object.fromEntries(volumes.map(({ variable, at }) => [variable, at])),
    ...request.env,
  }
  const shown = [
    { path: app, at: seenAt, ...(needsAlias(volumes) ? { alias: appFolder } : {}) },
    { path: home, at: sandbox.pathInside(home) },
    { path: paths.createOwned(join(paths.instance(instanceId), 'tmp'), owner.projectId), at: '/tmp' },
    ...volumes,
    ...tools.shown,
  ]
  const user = paths.processUserOf(owner.projectId, instanceId, folder)
  const otherPortLaunch = isNode(record) ? withPortScript(env, shown, paths, sandbox) : null
  return { argv: [...(request.entrypoint ?? []), ...argv], cwd, env, user, shown, builtBytes: record.builtBytes, otherPortLaunch }
}

/** Volumes at their mount paths, parents first. Where mounting is impossible, each stays at its path in the runtime's folder. */
function volumesOf({ volumes }: StartRequest, paths: Paths, sandbox: Sandbox, app: string) {
  const found = volumes.map(({ id, name, readOnly, mountPath: requestedPath }) => {
    const [path, mountPath] = [paths.volume(id), normalMountPath(requestedPath)]
    if (sandbox.reservedPaths) refuseReserved(mountPath, [...sandbox.reservedPaths, app])
    const at = sandbox.reservedPaths ? mountPath : sandbox.pathInside(path)
    return { path, at, readOnly, variable: volumeVariable(name), mountPath }
  })
  return found.sort((left, right) => left.at.length - right.at.length)
}

/** Whether a volume is mounted below `/app`: the app must then be reachable at that path, as in a container. */
const needsAlias = (volumes: readonly { at: string }[]) =>
  volumes.some(({ at }) => isBelow([appFolder], at)) && volumes.every(({ at }) => at !== appFolder)

const isNode = ({ language }: ArtifactRecord) => language === undefined || language === 'javascript' || language === 'typescript'

/** Environment and folders with a script that Node loads first: a server whose port is in use then listens on PORT. */
function withPortScript(
  env: Record<string, string>,
  shown: Program['shown'],
  paths: Paths,
  sandbox: Sandbox,
): NonNullable<Program['otherPortLaunch']> {
  const path = join(paths.of('bin'), 'listen-on-port-1.cjs')
  if (!existsSync(path)) {
    writeFileSync(`${path}.${process.pid}`, listenOnPortInstead, { mode: 0o644 })
    renameSync(`${path}.${process.pid}`, path)
  }
  const at = sandbox.pathInside(path)
  const options = [env.NODE_OPTIONS, `--require ${JSON.stringify(at)}`].filter(Boolean).join(' ')
  return { env: { ...env, NODE_OPTIONS: options }, shown: [...shown, { path, at, readOnly: true }] }
}
