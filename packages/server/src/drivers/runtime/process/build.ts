import { existsSync, rmSync } from 'node:fs'
import { chmod, cp, mkdir, readFile, realpath, rename, rm, writeFile } from 'node:fs/promises'
import { join, sep } from 'node:path'
import type { RunCommand } from '../../shell/command.ts'
import { CommandFailed, CommandTimedOut, ProgramMissing } from '../../shell/command-errors.ts'
import { buildCores } from '../build-cores.ts'
import { type Artifact, BuildFailed, type BuildRequest, type OutputLine } from '../runtime.ts'
import { type ControlGroup, createControlGroup, endControlGroup } from './cgroup.ts'
import { type Launcher, wordsOf } from './launch.ts'
import { folderSizeBytes, giveTo, type Places } from './places.ts'
import { readIdentity, signalGroup } from './process-table.ts'

export interface BuildParts {
  places: Places
  launcher: Launcher
  run: RunCommand
  /** The variables every program needs, from the machine. */
  baseEnv: Record<string, string>
}

const buildProcesses = 512
const tailLines = 30
const lookMs = 200

/** Runs the install and build commands in a copy of the source; what is in the copy afterwards is the artifact. */
export async function buildHere(
  request: BuildRequest,
  onLine: (line: OutputLine) => void,
  abort: AbortSignal,
  parts: BuildParts,
): Promise<Artifact> {
  const { plan, owner, service } = request
  if (plan.kind === 'dockerfile')
    throw new BuildFailed('bad_plan', 'A Dockerfile needs the docker runtime; this instance runs projects as plain processes')
  const target = parts.places.artifact(owner.deploymentId, service)
  await rm(target, { recursive: true, force: true })
  await mkdir(target, { recursive: true })
  await chmod(target, 0o711)
  const app = join(target, 'app')
  await cp(request.sourceFolder, app, { recursive: true, verbatimSymlinks: true })
  const uid = parts.places.userOf(owner.projectId)
  if (uid !== null) await giveTo(app, uid)
  try {
    await runCommands(request, app, onLine, abort, parts)
    return await finish(request, target, app)
  } catch (error) {
    await rm(target, { recursive: true, force: true })
    throw error
  }
}

async function runCommands(
  request: BuildRequest,
  app: string,
  onLine: (line: OutputLine) => void,
  abort: AbortSignal,
  parts: BuildParts,
) {
  const { plan, allotment, owner, service } = request
  const note = parts.places.buildNote(parts.places.artifact(owner.deploymentId, service))
  const uid = parts.places.userOf(owner.projectId)
  const limits = {
    cpuCores: allotment.cpuCores,
    memoryMb: allotment.memoryMb,
    processes: buildProcesses,
    yields: true,
    cores: buildCores(),
  }
  const group = createControlGroup(groupName(owner.deploymentId, service), limits)
  const deadline = performance.now() + request.timeoutMs
  const tail: string[] = []
  const say = (stream: OutputLine['stream'], message: string) => {
    tail.push(message)
    if (tail.length > tailLines) tail.shift()
    onLine({ time: new Date().toISOString(), stream, message })
  }
  const ending = group && setInterval(() => endAtLimit(group), lookMs)
  try {
    for (const command of [...toolsFirst(request), plan.installCommand, plan.buildCommand]) {
      if (!command) continue
      say('stdout', `$ ${command}`)
      const words = parts.launcher.wrap(wordsOf(command), { group, uid, note })
      const timeoutMs = deadline - performance.now()
      await runOne(
        words,
        { cwd: join(app, plan.rootDirectory), env: environmentFor(request, app, parts), timeoutMs },
        say,
        abort,
        parts,
      ).catch((error: unknown) => {
        throw explain(error, command, group, request, tail)
      })
    }
  } finally {
    clearInterval(ending ?? undefined)
    group?.kill()
    group?.remove()
  }
}

/** A program that goes on after a refused fork or the death of one of its processes would go on for ever. */
function endAtLimit(group: ControlGroup): void {
  if (group.outOfMemory || group.hitProcessLimit) group.kill()
}

const groupName = (deploymentId: string, service: string) => `build-${deploymentId}${service ? `.${service}` : ''}`

/** Builds that a killed control plane left running are ended, whole tree, and what they had made so far goes. */
export function endUnfinishedBuilds(places: Places): void {
  for (const name of places.list('artifacts')) {
    const folder = join(places.of('artifacts'), name)
    if (existsSync(join(folder, 'artifact.json'))) continue
    const identity = readIdentity(places.buildNote(folder))
    if (identity) signalGroup(identity, 'SIGKILL')
    endControlGroup(`build-${name}`)
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

/** Python packages go into a folder of the project, not into the machine. */
const toolsFirst = ({ plan }: BuildRequest): string[] =>
  plan.language === 'python' && plan.installCommand ? ['python3 -m venv .venv'] : []

export function environmentFor(
  { owner, secrets, plan }: BuildRequest,
  app: string,
  { places, baseEnv }: BuildParts,
): Record<string, string> {
  const home = places.home(owner.projectId)
  return {
    ...baseEnv,
    HOME: home,
    PATH: searchPath(join(app, plan.rootDirectory), places, baseEnv),
    CI: '1',
    PORT: String(plan.port),
    ...secrets,
  }
}

/** The project's own programs first, then the Node that came along, then the machine's. */
export const searchPath = (folder: string, places: Places, baseEnv: Record<string, string>) =>
  [join(folder, '.venv', 'bin'), join(folder, 'node_modules', '.bin'), places.nodeFolder(), places.searchPath(baseEnv.PATH ?? '')]
    .filter(Boolean)
    .join(':')

async function runOne(
  words: string[],
  { cwd, env, timeoutMs }: { cwd: string; env: Record<string, string>; timeoutMs: number },
  say: (stream: OutputLine['stream'], message: string) => void,
  abort: AbortSignal,
  { run }: BuildParts,
): Promise<void> {
  const lines = { stdout: lineSplitter((line) => say('stdout', line)), stderr: lineSplitter((line) => say('stderr', line)) }
  const [program, ...args] = words as [string, ...string[]]
  await run(
    { program, args, cwd, env },
    { abort, timeoutMs, maxOutputBytes: 64 * 1024, onStdout: lines.stdout.take, onStderr: lines.stderr.take },
  )
  lines.stdout.end()
  lines.stderr.end()
}

const longestLine = 16 * 1024

/** Whole lines from chunks; a line without end is cut. */
export function lineSplitter(onLine: (line: string) => void) {
  const decoder = new TextDecoder()
  let rest = ''
  return {
    take(chunk: Uint8Array): void {
      const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n')
      rest = parts.pop() ?? ''
      for (const line of parts) onLine(line.replace(/\r$/, ''))
      if (rest.length > longestLine) {
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

function explain(
  error: unknown,
  command: string,
  group: ControlGroup | null,
  { allotment, timeoutMs }: BuildRequest,
  tail: string[],
): unknown {
  if (group?.outOfMemory)
    return new BuildFailed('out_of_memory', `\`${command}\` used more than the ${allotment.memoryMb} MB that a build may use`, [
      ...tail,
    ])
  if (group?.hitProcessLimit && !(error instanceof CommandTimedOut))
    return new BuildFailed('too_many_processes', `\`${command}\` started more than ${buildProcesses} processes`, [...tail])
  if (error instanceof CommandTimedOut)
    return new BuildFailed('timed_out', `The build took longer than ${Math.round(timeoutMs / 60_000)} min`, [...tail])
  if (error instanceof ProgramMissing) return new BuildFailed('missing_tool', error.message, [...tail])
  if (error instanceof CommandFailed)
    return new BuildFailed('command_failed', `\`${command}\` ended with exit code ${error.exitCode ?? 'unknown'}`, [...tail])
  return error
}

async function finish(request: BuildRequest, target: string, app: string): Promise<Artifact> {
  const { plan, owner, service, allotment } = request
  const reference = plan.kind === 'static' ? await staticOutput(request, target, app) : target
  const sizeBytes = await folderSizeBytes(target)
  if (sizeBytes > allotment.diskMb * 1024 * 1024)
    throw new BuildFailed(
      'disk_full',
      `What was built is ${Math.ceil(sizeBytes / 1024 / 1024)} MB, more than the ${allotment.diskMb} MB allowed`,
    )
  const artifact: Artifact = {
    kind: plan.kind === 'static' ? 'static' : 'folder',
    reference,
    sizeBytes,
    startCommand: plan.startCommand,
  }
  const note = {
    ...artifact,
    deploymentId: owner.deploymentId,
    projectId: owner.projectId,
    service,
    rootDirectory: plan.rootDirectory,
  }
  await rm(join(target, 'build.process'), { force: true })
  await writeFile(join(target, 'artifact.json.new'), JSON.stringify(note))
  await rename(join(target, 'artifact.json.new'), join(target, 'artifact.json'))
  return artifact
}

/** Only the output folder counts; it must be a folder of the project's own. */
async function staticOutput({ plan }: BuildRequest, target: string, app: string): Promise<string> {
  const wanted = join(app, plan.rootDirectory, plan.outputDirectory ?? '.')
  const real = await realpath(wanted).catch(() => null)
  const root = await realpath(app)
  if (!real || (real !== root && !real.startsWith(root + sep)))
    throw new BuildFailed(
      'bad_plan',
      `The build made no folder ${plan.outputDirectory}: set the output directory to what it makes`,
    )
  const output = join(target, 'static')
  await rename(real, output)
  await rm(app, { recursive: true, force: true })
  await chmod(output, 0o755)
  return output
}

export interface ArtifactNote extends Artifact {
  deploymentId: string
  projectId: string
  service: string
  rootDirectory: string
}

export async function readArtifactNote(folder: string): Promise<ArtifactNote | null> {
  try {
    return JSON.parse(await readFile(join(folder, 'artifact.json'), 'utf8')) as ArtifactNote
  } catch {
    return null
  }
}
