import { chmod, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { CommandFailed } from '../../../shell/command-errors.ts'
import { DiskMeasurement } from '../disk/disk-use.ts'
import type { Paths } from '../files/paths.ts'
import { createControlGroup } from '../processes/cgroup.ts'
import { killAllWithGroupId } from '../processes/process-table.ts'
import { runLaunched } from '../processes/run-launched.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import { arrangePrograms, finishTool } from './finish-tool.ts'
import { packageOf, type Tool } from './tool-packages.ts'
import { ToolUnavailable } from './tool-unavailable.ts'

export interface FetchParts {
  paths: Paths
  sandbox: Sandbox
  /** Variables that every program needs, from the machine. */
  baseEnv: Record<string, string>
  /** npm settings for the registry and its proxy. */
  npmEnv: Record<string, string>
}

/** Id in place of a project id, for the user that fetches tools. No project has this id. */
const fetcher = 'tools'
const limits = { cpuCores: 2, memoryMb: 1024, processes: 128 }
const fetchTimeoutMs = 5 * 60_000
const checkTimeoutMs = 60_000
const pollIntervalMs = 500
/** The largest tool is Node with its headers, which takes a quarter of this. */
export const toolLimitMb = 800

/**
 * Fetches a tool with the machine's npm, which knows the registry and verifies the download against the registry's checksums.
 * npm runs like a build, as its own user in an empty folder, without package scripts. Returns the name under which the tool
 * is kept.
 */
export async function fetchTool(
  tool: Tool,
  range: string,
  folder: string,
  parts: FetchParts,
  abort: AbortSignal,
): Promise<string> {
  const { name, programs } = packageOf(tool, range, process)
  const task = `fetch-${basename(folder)}`
  for (const inner of ['', 'home', 'tmp']) parts.paths.createOwned(join(folder, inner), fetcher)
  await writeFile(join(folder, 'package.json'), '{"private":true}')
  await chmod(join(folder, 'package.json'), 0o644)
  await runAsFetcher(task, [...installCommand, `${name}@${range}`], folder, fetchTimeoutMs, parts, abort)
  const version = await arrangePrograms({ tool, name, programs: programs ?? {} }, folder)
  // Rejects a tool that does not run on this machine, for example because it needs another C library.
  await runAsFetcher(task, [`${parts.sandbox.pathInside(folder)}/bin/${tool}`, '--version'], folder, checkTimeoutMs, parts, abort)
  await finishTool(tool, version, folder, parts.paths.hasOwnUsers)
  return `${tool}-${version}`
}

const installCommand = [
  'npm',
  'install',
  '--no-save',
  '--no-package-lock',
  '--ignore-scripts',
  '--omit=optional',
  '--omit=peer',
  '--omit=dev',
  '--no-audit',
  '--no-fund',
  '--no-update-notifier',
  '--engine-strict=false',
  '--loglevel=error',
  '--fetch-retries=1',
  '--fetch-retry-mintimeout=1000',
  '--fetch-timeout=60000',
]

async function runAsFetcher(
  task: string,
  argv: string[],
  folder: string,
  timeoutMs: number,
  parts: FetchParts,
  abort: AbortSignal,
) {
  const { paths, sandbox, baseEnv, npmEnv } = parts
  const group = createControlGroup(task, limits)
  const diskExceeded = new AbortController()
  const check = new DiskMeasurement({ growingFolder: folder, initialBytes: 0, countedFolders: [], limitMb: toolLimitMb })
  const diskTimer = setInterval(() => {
    void check.exceedsLimit(group?.pids()).then(
      (isOver) => isOver && diskExceeded.abort(),
      () => undefined,
    )
  }, pollIntervalMs)
  const pathInside = sandbox.pathInside(folder)
  try {
    const launched = sandbox.launch({
      argv,
      cwd: pathInside,
      env: {
        ...baseEnv,
        ...npmEnv,
        HOME: `${pathInside}/home`,
        PATH: `${sandbox.nodeFolder()}:${sandbox.searchPath(baseEnv.PATH ?? '')}`,
      },
      user: paths.processUserOf(fetcher, task, folder),
      groupFolders: group?.folders ?? [],
      processFile: null,
      shown: [
        { path: folder, at: pathInside },
        { path: join(folder, 'tmp'), at: '/tmp' },
      ],
      stopsWithControlPlane: true,
    })
    await runLaunched(launched, { abort: AbortSignal.any([abort, diskExceeded.signal]), timeoutMs, maxOutputBytes: 64 * 1024 })
  } catch (error) {
    abort.throwIfAborted()
    throw new ToolUnavailable(diskExceeded.signal.aborted ? `it is larger than ${toolLimitMb} MB` : reasonOf(error))
  } finally {
    clearInterval(diskTimer)
    group?.kill()
    if (paths.hasOwnUsers && !sandbox.hasPidNamespace) await killAllWithGroupId(paths.groupIdOf(task))
    group?.remove()
  }
}

const reasons: [RegExp, string][] = [
  [/\b(E404|ETARGET|ENOVERSIONS)\b/, 'the npm registry has no matching version'],
  [/\bEINTEGRITY\b/, 'the package does not match its checksum'],
  [
    /\b(ENOTFOUND|ECONNREFUSED|ECONNRESET|EAI_AGAIN|ETIMEDOUT|ENETUNREACH|ERR_SOCKET_TIMEOUT|FETCH_ERROR)\b/,
    'the npm registry is unreachable',
  ],
  [/\b(E401|E403)\b/, 'the npm registry denied access'],
]

/** Explains known npm errors. Returns npm's own lines for others. */
function reasonOf(error: unknown): string {
  const text = error instanceof CommandFailed ? error.lastLines : (error as Error).message
  const known = reasons.find(([pattern]) => pattern.test(text))
  if (known) return known[1]
  const lines = text.split('\n').filter((line) => line.trim() && !line.includes('complete log'))
  return lines.slice(0, 2).join('; ').slice(0, 300) || 'npm gave no reason'
}
