import { spawnSync } from 'node:child_process'
import { chmodSync, closeSync, mkdirSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { insideNode, insideRoot, machineView, reservedPaths, View, visibleIn } from './bubblewrap.ts'
import { certificateFolder } from './certificates.ts'
import { encodeHandover, lastStage } from './handover.ts'
import { firstStage } from './launch-script.ts'
import { nestedStage, splitNested } from './nested-mounts.ts'
import { copyOfNode } from './node-copy.ts'
import { dropPrivileges, type IsolationKind, type Launch, type Launched, rootTools, type Sandbox } from './sandbox.ts'
import { fixedEnvironment, systemProgram } from './system-programs.ts'
import { allowTraversal, isOpenToAll } from './traversal.ts'

export interface SandboxSettings {
  /** Folder of the process runtime. */
  folder: string
  /** Data folder, which no project may see. */
  dataDir: string
  environment: Readonly<Record<string, string | undefined>>
  /** Kinds to try, in order. Absent: all, the strongest isolation first. */
  kinds?: readonly IsolationKind[]
}

/** No isolation of the requested kinds works here. */
export class NoSandbox extends Error {
  override name = 'NoSandbox'
}

/** Returns the first isolation that works here. Runs a trial to find out. */
export function openSandbox(settings: SandboxSettings): Sandbox {
  const { kinds = ['bubblewrap', 'own-users', 'none'] } = settings
  const isRoot = process.getuid?.() === 0
  const reasons: string[] = []
  for (const kind of kinds) {
    // Projects must never run with root's own privileges.
    if (kind === 'none' && isRoot) continue
    const found = candidates(kind, settings, isRoot)
    if (found.length === 0) reasons.push(missingReason(kind, isRoot))
    for (const sandbox of found) {
      const failure = runTrial(sandbox, settings)
      if (failure === null) return sandbox
      reasons.push(`${sandbox.message}: ${failure}`)
    }
  }
  throw new NoSandbox(
    isRoot
      ? `Projects' own users cannot reach ${settings.folder}: set BERTH_DATA_DIR to a folder that every user can traverse (mode o+x), such as /var/lib/berth, or install bubblewrap (${reasons.join('; ')})`
      : reasons.join('; '),
  )
}

const missingReason = (kind: IsolationKind, isRoot: boolean) =>
  kind === 'bubblewrap'
    ? 'bubblewrap is not installed'
    : isRoot
      ? 'setpriv is not installed'
      : 'only root can run each project as its own user'

function candidates(kind: IsolationKind, settings: SandboxSettings, isRoot: boolean): Sandbox[] {
  if (kind === 'none') return [noIsolation()]
  if (kind === 'own-users') return isRoot ? ownUsers(settings) : []
  const bwrap = systemProgram('bwrap')
  if (!bwrap || (isRoot && !rootTools())) return []
  return isRoot ? [bubblewrap(bwrap, settings, true), bubblewrap(bwrap, settings, false)] : [bubblewrap(bwrap, settings, false)]
}

const toLaunched = (argv: readonly string[], launch: Launch): Launched => ({
  program: argv[0] as string,
  args: argv.slice(1),
  env: { ...fixedEnvironment },
  cwd: '/',
  handover: encodeHandover(launch),
})

function bubblewrap(bwrap: string, { folder, dataDir, environment }: SandboxSettings, canDropBounds: boolean): Sandbox {
  const tools = process.getuid?.() === 0 ? rootTools() : null
  const machine = machineView(environment, dataDir)
    .add('--ro-bind', process.execPath, `${insideNode}/node`)
    .add('--ro-bind-try', join(folder, certificateFolder), `${insideRoot}/${certificateFolder}`)
  const last = lastStage(`${insideNode}/node`)
  return {
    kind: 'bubblewrap',
    message: tools
      ? 'bubblewrap: each project sees its own files and processes only, and runs as its own user'
      : 'bubblewrap: each project sees its own files and processes only',
    hasOwnUsers: tools !== null,
    hasPidNamespace: true,
    pathInside: (path) => translatePath(path, folder, insideRoot),
    reservedPaths: reservedPaths(environment),
    nodeFolder: () => insideNode,
    searchPath: (path) => visibleIn(environment, path),
    launch(launch) {
      const { user, processFile, groupFolders, shown, stopsWithControlPlane } = launch
      const namespaces = ['--unshare-pid', '--unshare-ipc', '--unshare-uts', ...(tools ? [] : ['--unshare-user'])]
      // The instance's own control groups, for programs that read their limits.
      const view = new View(machine)
      for (const group of groupFolders) view.add('--ro-bind', group, group)
      const { outer, nested } = splitNested(shown)
      for (const { path, at, readOnly, alias } of outer) {
        view.add(readOnly ? '--ro-bind' : '--bind', path, at)
        if (alias) view.addLink(at, alias)
      }
      for (const { path, from, readOnly } of nested) view.add(readOnly ? '--ro-bind' : '--bind', path, from)
      const files = [...view.args, '--remount-ro', '/', '--chdir', '/']
      const drop = tools && user ? dropPrivileges(tools.setpriv, user, canDropBounds) : []
      const argv = [
        bwrap,
        ...namespaces,
        ...(stopsWithControlPlane ? ['--die-with-parent'] : []),
        ...files,
        '--',
        ...nestedStage(nested, { bwrap, mount: tools?.mount ?? null, drop }, last),
      ]
      return toLaunched(firstStage({ processFile, groupFolders, mount: null }, argv), launch)
    },
  }
}

/** Isolation for root without bubblewrap. Users reach their folders through a private mount, or else through the real path. */
function ownUsers({ folder, dataDir }: SandboxSettings): Sandbox[] {
  const tools = rootTools()
  if (!tools) return []
  const { mount, unshare } = tools
  const accessWays = [
    ...(mount && unshare ? [{ mount: { program: mount, unshare, folder, at: insideRoot }, root: insideRoot }] : []),
    ...(isOpenToAll(dirname(dataDir)) ? [{ mount: null, root: folder }] : []),
  ]
  return accessWays.flatMap((way) => {
    let isPrepared = false
    const prepare = () => {
      if (isPrepared) return
      if (way.mount) mkdirSync(insideRoot, { recursive: true, mode: 0o711 })
      else allowTraversal(dataDir, folder)
      isPrepared = true
    }
    return [true, false].map((canDropBounds): Sandbox => {
      const pathInside = (path: string) => translatePath(path, folder, way.root)
      const nodeFolder = () => pathInside(copyOfNode(folder))
      return {
        kind: 'own-users',
        message: 'own users: each project runs as its own user and can read all world-readable files',
        hasOwnUsers: true,
        hasPidNamespace: false,
        pathInside,
        reservedPaths: null,
        nodeFolder,
        searchPath: (path) => path.split(':').filter(isOpenToAll).join(':'),
        launch(launch) {
          if (!launch.user) throw new Error('The isolation by own users needs the user of the project')
          prepare()
          const { processFile, groupFolders } = launch
          const argv = [...dropPrivileges(tools.setpriv, launch.user, canDropBounds), ...lastStage(`${nodeFolder()}/node`)]
          return toLaunched(firstStage({ processFile, groupFolders, mount: way.mount }, argv), launch)
        },
      }
    })
  })
}

function noIsolation(): Sandbox {
  const last = lastStage(process.execPath)
  return {
    kind: 'none',
    message:
      "none: every project can read all files of Berth's own user, including other projects' files and the instance's keys",
    hasOwnUsers: false,
    hasPidNamespace: false,
    pathInside: (path) => path,
    reservedPaths: null,
    nodeFolder: () => dirname(process.execPath),
    searchPath: (path) => path,
    launch: (launch) => toLaunched(firstStage({ ...launch, mount: null }, last), launch),
  }
}

const translatePath = (path: string, from: string, to: string) =>
  path === from || path.startsWith(`${from}/`) ? `${to}${path.slice(from.length)}` : path

/** Runs a trial. Returns null, or the reason why it failed. */
function runTrial(sandbox: Sandbox, { folder }: SandboxSettings): string | null {
  mkdirSync(folder, { recursive: true, mode: 0o711 })
  chmodSync(folder, 0o711)
  const { program, args, env, cwd, handover } = sandbox.launch({
    argv: ['/bin/sh', '-c', 'test -d "$FOLDER"'],
    cwd: '/',
    env: { FOLDER: sandbox.pathInside(folder) },
    user: sandbox.hasOwnUsers ? trialUser : null,
    groupFolders: [],
    processFile: null,
    shown: [],
    stopsWithControlPlane: true,
  })
  const file = join(folder, `trial-${process.pid}`)
  writeFileSync(file, handover, { mode: 0o600 })
  const handoverFile = openSync(file, 'r')
  rmSync(file)
  try {
    const trial = spawnSync(program, args, { env, cwd, stdio: ['ignore', 'ignore', 'pipe', handoverFile], timeout: 10_000 })
    if (trial.status === 0) return null
    return trial.stderr?.toString().trim().split('\n').at(-1) || trial.error?.message || `exit code ${trial.status}`
  } finally {
    closeSync(handoverFile)
  }
}

const trialUser = { uid: 0x1ffffffe, gid: 0x1ffffffe, artifactGid: 0x1ffffffe }
