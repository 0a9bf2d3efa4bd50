import { existsSync } from 'node:fs'
import { cp, mkdir, rmdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { CommandFailed, CommandTimedOut, ProgramMissing } from '../../../shell/command-errors.ts'
import { buildCores } from '../../build-cores.ts'
import { failureHint } from '../../failure-hint.ts'
import { commandFailedMessage } from '../../outdated-lockfile.ts'
import type { Artifact, BuildRequest, OutputLine } from '../../runtime.ts'
import { BuildFailed } from '../../runtime-errors.ts'
import { DiskMeasurement } from '../disk/disk-use.ts'
import { freeSpaceAt } from '../disk/free-space.ts'
import { finishArtifact } from '../files/artifact.ts'
import { changeOwner, type Paths } from '../files/paths.ts'
import { discardTree, removeTree } from '../files/remove-tree.ts'
import { type ControlGroup, createControlGroup, endControlGroup } from '../processes/cgroup.ts'
import { killAllWithGroupId, killRemainingInGroup, readIdentity } from '../processes/process-table.ts'
import { runLaunched } from '../processes/run-launched.ts'
import type { Launched, Sandbox } from '../sandbox/sandbox.ts'
import { missingTool } from '../tools/missing-tool.ts'
import { ToolUnavailable } from '../tools/tool-unavailable.ts'
import { noTools, type Toolbox, type ToolSet } from '../tools/toolbox.ts'
import { argvOfCommand } from './command-words.ts'
import { setupCommands } from './setup-commands.ts'

export interface BuildParts {
  paths: Paths
  sandbox: Sandbox
  /** Variables that every program needs, from the machine. */
  baseEnv: Record<string, string>
  toolbox: Toolbox
}

const maxBuildProcesses = 512
const tailLines = 30
const pollIntervalMs = 200

/** Runs the install and build commands in a copy of the source. The copy then is the artifact. */
export async function buildArtifact(
  request: BuildRequest,
  onLine: (line: OutputLine) => void,
  abort: AbortSignal,
  parts: BuildParts,
): Promise<Artifact> {
  const { plan, owner, service } = request
  if (plan.kind === 'dockerfile')
    throw new BuildFailed('bad_plan', 'A Dockerfile needs the docker runtime; this instance runs projects as plain processes')
  const { paths } = parts
  const target = paths.artifact(owner.deploymentId, service)
  await removeTree(target, paths.of('trash'))
  await mkdir(target, { recursive: true, mode: 0o700 })
  const app = join(target, 'app')
  await cp(request.sourceFolder, app, { recursive: true, verbatimSymlinks: true })
  const user = paths.processUserOf(owner.projectId, taskOf(target), target)
  if (user) await changeOwner(app, user.uid)
  paths.createOwned(join(target, 'tmp'), owner.projectId)
  paths.restrictArtifact(target)
  let tools = noTools
  try {
    tools = await toolsFor(request, onLine, abort, parts)
    await runCommands(request, target, onLine, abort, parts, tools)
    // Usually empty, then rmdir is enough.
    await rmdir(join(target, 'tmp')).catch(() => removeTree(join(target, 'tmp'), paths.of('trash')))
    return await finishArtifact(request, target, app, parts, tools.names)
  } catch (error) {
    await removeTree(target, paths.of('trash'))
    throw error
  } finally {
    parts.toolbox.release(tools.names)
  }
}

/** Fetches the tool versions that the project requires and the machine lacks. */
async function toolsFor(
  { plan }: BuildRequest,
  onLine: (line: OutputLine) => void,
  abort: AbortSignal,
  { toolbox }: BuildParts,
): Promise<ToolSet> {
  const report = (message: string) => onLine({ time: new Date().toISOString(), stream: 'stdout', message })
  return toolbox.forPlan(plan, report, abort).catch((error: unknown) => {
    throw error instanceof ToolUnavailable ? new BuildFailed('missing_tool', error.message) : error
  })
}

const taskOf = (artifact: string) => `build-${basename(artifact)}`

async function runCommands(
  request: BuildRequest,
  target: string,
  onLine: (line: OutputLine) => void,
  abort: AbortSignal,
  parts: BuildParts,
  tools: ToolSet,
) {
  const { plan, resources } = request
  const limits = {
    cpuCores: resources.cpuCores,
    memoryMb: resources.memoryMb,
    processes: maxBuildProcesses,
    isLowPriority: true,
    cores: buildCores(),
  }
  const group = createControlGroup(taskOf(target), limits)
  const deadline = performance.now() + request.timeoutMs
  const tail: string[] = []
  let reason: string | null = null
  const report = (stream: OutputLine['stream'], message: string) => {
    tail.push(message)
    reason ??= failureHint(message)
    if (tail.length > tailLines) tail.shift()
    onLine({ time: new Date().toISOString(), stream, message })
  }
  const diskExceeded = new AbortController()
  const home = parts.paths.home(request.owner, target)
  const limitWatch: LimitWatch = {
    group,
    diskExceeded,
    measurement: diskMeasurementOf(request, target, home),
    home,
    isChecking: false,
  }
  const limitTimer = setInterval(() => void enforceLimits(limitWatch), pollIntervalMs)
  const signal = AbortSignal.any([abort, diskExceeded.signal])
  try {
    for (const command of [...setupCommands(request.plan), plan.installCommand, plan.buildCommand]) {
      if (!command) continue
      report('stdout', `$ ${command}`)
      const launched = launchFor(command, request, target, group, parts, tools)
      await runCommand(launched, deadline - performance.now(), report, signal).catch((error: unknown) => {
        throw asBuildFailure(error, command, limitWatch, request, { tail, reason })
      })
    }
  } finally {
    clearInterval(limitTimer)
    group?.kill()
    await killBuildProcesses(target, parts.paths, parts.sandbox.hasPidNamespace)
    group?.remove()
  }
}

/** Ends all processes of a build, so that none of them changes the artifact later. */
async function killBuildProcesses(target: string, paths: Paths, hadOwnProcesses = false): Promise<void> {
  const identity = readIdentity(paths.buildProcessFile(target))
  if (identity) killRemainingInGroup(identity)
  // A process namespace ends, with all its processes, when its first process does.
  if (paths.hasOwnUsers && !hadOwnProcesses) await killAllWithGroupId(paths.groupIdOf(taskOf(target)))
}

function launchFor(
  command: string,
  request: BuildRequest,
  target: string,
  group: ControlGroup | null,
  { paths, sandbox, baseEnv }: BuildParts,
  tools: ToolSet,
): Launched {
  const { owner, plan, secrets } = request
  const home = paths.home(owner, target)
  const app = join(target, 'app')
  const cwd = sandbox.pathInside(join(app, plan.rootDirectory))
  return sandbox.launch({
    argv: argvOfCommand(command),
    cwd,
    env: {
      ...baseEnv,
      HOME: sandbox.pathInside(home),
      PWD: cwd,
      PATH: searchPath(cwd, sandbox, baseEnv, tools.path),
      CI: '1',
      PORT: String(plan.port),
      ...secrets,
    },
    user: paths.processUserOf(owner.projectId, taskOf(target), target),
    groupFolders: group?.folders ?? [],
    processFile: paths.buildProcessFile(target),
    shown: [
      { path: app, at: sandbox.pathInside(app) },
      { path: home, at: sandbox.pathInside(home) },
      { path: join(target, 'tmp'), at: '/tmp' },
      ...tools.shown,
    ],
    stopsWithControlPlane: true,
  })
}

interface LimitWatch {
  group: ControlGroup | null
  measurement: DiskMeasurement
  home: string
  isChecking: boolean
  /** Aborted when the build exceeds its disk limit. */
  diskExceeded: AbortController
}

/** Measures the disk usage of a build. Its home counts only with its growth: earlier builds may have filled it. */
const diskMeasurementOf = ({ resources }: BuildRequest, target: string, home: string) =>
  new DiskMeasurement({
    growingFolder: home,
    countedFolders: [join(target, 'app'), join(target, 'tmp')],
    limitMb: resources.diskMb,
  })

/** Ends a build at its limits. Without this, a program that ignores a failed fork or a killed child could run forever. */
async function enforceLimits(limitWatch: LimitWatch): Promise<void> {
  const { group, measurement, home, diskExceeded } = limitWatch
  if (group?.outOfMemory || group?.hitProcessLimit) group.kill()
  if (limitWatch.isChecking) return
  limitWatch.isChecking = true
  try {
    if (!measurement.isDue(await freeSpaceAt(home)) || !(await measurement.exceedsLimit(group?.pids()))) return
    diskExceeded.abort()
    group?.kill()
  } catch {
    // Measured again at the next interval.
  } finally {
    limitWatch.isChecking = false
  }
}

/** Ends builds that a killed control plane left running, with all their processes, and removes their files. */
export async function endUnfinishedBuilds(paths: Paths): Promise<void> {
  const unfinished = paths
    .list('artifacts')
    .map((name) => join(paths.of('artifacts'), name))
    .filter((folder) => !existsSync(join(folder, 'artifact.json')))
  // Moved to the trash at once: the same deployment may be built again before the last process has ended.
  const ended = unfinished.map((folder) => {
    const killing = killBuildProcesses(folder, paths)
    endControlGroup(taskOf(folder))
    discardTree(folder, paths.of('trash'))
    return killing
  })
  await Promise.all(ended)
}

/**
 * PATH of a project: its own programs, then the tool versions that it requires, then the Node that Berth runs on, then the
 * machine's. `folder` is the path inside the sandbox.
 */
export const searchPath = (folder: string, sandbox: Sandbox, baseEnv: Record<string, string>, tools: readonly string[] = []) =>
  [
    join(folder, '.venv', 'bin'),
    join(folder, 'node_modules', '.bin'),
    ...tools,
    sandbox.nodeFolder(),
    sandbox.searchPath(baseEnv.PATH ?? ''),
  ]
    .filter(Boolean)
    .join(':')

async function runCommand(
  launched: Launched,
  timeoutMs: number,
  report: (stream: OutputLine['stream'], message: string) => void,
  abort: AbortSignal,
): Promise<void> {
  const lines = { stdout: lineSplitter((line) => report('stdout', line)), stderr: lineSplitter((line) => report('stderr', line)) }
  await runLaunched(launched, {
    abort,
    timeoutMs,
    maxOutputBytes: 64 * 1024,
    onStdout: lines.stdout.write,
    onStderr: lines.stderr.write,
  })
  lines.stdout.end()
  lines.stderr.end()
}

const maxLineLength = 16 * 1024

/** Splits chunks into lines. A line that is too long is cut. */
export function lineSplitter(onLine: (line: string) => void) {
  const decoder = new TextDecoder()
  let rest = ''
  return {
    write(chunk: Uint8Array): void {
      const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n')
      rest = parts.pop() ?? ''
      for (const line of parts) onLine(line.replace(/\r$/, ''))
      if (rest.length > maxLineLength) {
        onLine(rest)
        rest = ''
      }
    },
    end(): void {
      if (rest) onLine(rest)
      rest = ''
    },
  }
}

function asBuildFailure(
  error: unknown,
  command: string,
  { group, diskExceeded }: LimitWatch,
  { resources, timeoutMs }: BuildRequest,
  { tail, reason }: { tail: string[]; reason: string | null },
): unknown {
  if (diskExceeded.signal.aborted)
    return new BuildFailed('disk_full', `\`${command}\` exceeded the build disk limit of ${resources.diskMb} MB`, [...tail])
  if (group?.outOfMemory)
    return new BuildFailed('out_of_memory', `\`${command}\` exceeded the build memory limit of ${resources.memoryMb} MB`, [
      ...tail,
    ])
  if (group?.hitProcessLimit && !(error instanceof CommandTimedOut))
    return new BuildFailed('too_many_processes', `\`${command}\` started more than ${maxBuildProcesses} processes`, [...tail])
  if (error instanceof CommandTimedOut)
    return new BuildFailed('timed_out', `The build took longer than ${Math.round(timeoutMs / 60_000)} min`, [...tail])
  if (error instanceof ProgramMissing) return new BuildFailed('missing_tool', error.message, [...tail])
  const missing = error instanceof CommandFailed ? missingTool(error.exitCode, tail) : null
  if (missing) return new BuildFailed('missing_tool', missing, [...tail])
  if (error instanceof CommandFailed)
    return new BuildFailed('command_failed', commandFailedMessage(command, error.exitCode ?? 'unknown', reason), [...tail])
  return error
}
