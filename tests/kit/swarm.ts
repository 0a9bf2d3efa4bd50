import { execFile } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { mkdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe } from 'vitest'
import { type Engine, openEngine } from '../../packages/server/src/drivers/runtime/docker/engine.ts'
import { type Daemon, isAlive, startDaemon } from './daemon.ts'
import { describeNeeding, partOf } from './machine.ts'
import { tempFolder } from './temp-folder.ts'

const run = promisify(execFile)
const prefix = 'bsw'

export interface TestSwarm extends AsyncDisposable {
  /** Socket of the manager's engine. */
  readonly socketPath: string
  /** Address of the manager, which this machine reaches. */
  readonly address: string
  readonly engine: Engine
  /** Stops the manager's engine and starts it again, as after an upgrade of Docker. */
  restart(): Promise<void>
}

/** A suite that needs a swarm of its own. */
export function describeOnSwarm(title: string, body: () => void): void {
  const reason = missingForSwarm()
  if (reason === null) describeNeeding(['docker', 'nodeImage'], title, body)
  else describe.skip(`${title} (skipped: ${reason})`, body)
}

/** Why no swarm can be started here. Null: it can. */
export function missingForSwarm(): string | null {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'a swarm of its own needs root on Linux'
  const missing = ['dockerd', 'ip', 'nsenter'].filter((program) => !isInstalled(program))
  return missing.length > 0 ? `${missing.join(', ')} not installed` : null
}

/**
 * Starts an engine in a network namespace of its own, so that neither its bridges nor its firewall rules meet those of other
 * engines, makes it a swarm of one node, and copies the test machine's Node image into it.
 */
export async function startSwarm(): Promise<TestSwarm> {
  await removeLeftNamespaces()
  const folder = await tempFolder('swarm')
  const namespace = `${prefix}${process.pid}`
  const address = await makeNamespace(namespace)
  const socketPath = join(folder.path, 'docker.sock')
  const engine = openEngine(socketPath)
  let daemon: Daemon | undefined
  const start = async () => {
    await rm(join(folder.path, 'pid'), { force: true })
    daemon = await startDaemon({ program: 'nsenter', args: dockerd(namespace, folder.path, socketPath), ready: /API listen on/ })
  }
  const stop = async () => {
    await daemon?.stop(30_000)
    await unmountBelow(folder.path)
  }
  const remove = async () => {
    await stop()
    await run('ip', ['netns', 'delete', namespace])
    await folder.remove()
  }
  try {
    await mkdir(join(folder.path, 'data'))
    await start()
    await engine.swarmInit({
      ...{ ListenAddr: `${address}:2377`, AdvertiseAddr: address },
      ...{ DefaultAddrPool: ['10.253.0.0/16'], SubnetSize: 26 },
    })
    await copyImage(partOf('nodeImage'), openEngine(partOf('docker')), engine)
  } catch (error) {
    await remove()
    throw error
  }
  return {
    ...{ socketPath, address, engine },
    async restart() {
      await stop()
      await start()
    },
    [Symbol.asyncDispose]: remove,
  }
}

/** Settings of an instance whose projects run in the swarm. */
export const swarmSettings = ({ socketPath }: TestSwarm): NodeJS.ProcessEnv => ({
  BERTH_RUNTIME: 'swarm',
  BERTH_DOCKER_SOCKET: socketPath,
  BERTH_BASE_IMAGE_NODE: partOf('nodeImage'),
  BERTH_BASE_IMAGE_STATIC: partOf('nodeImage'),
})

/** Some machines may not raise limits or lower OOM scores, so none are asked for. */
const dockerd = (namespace: string, folder: string, socketPath: string) => [
  ...[`--net=/run/netns/${namespace}`, 'dockerd', '--data-root', join(folder, 'data'), '--exec-root', join(folder, 'exec')],
  ...['-H', `unix://${socketPath}`, '--pidfile', join(folder, 'pid'), '--oom-score-adjust', '0', '--shutdown-timeout', '5'],
]

/** A namespace with a link to this machine. Returns its address: the first free pair of a range for tests of networks. */
async function makeNamespace(name: string): Promise<string> {
  const { stdout: routes } = await run('ip', ['-4', 'route', 'show', 'table', 'all'])
  const net = Array.from({ length: 256 }, (_, at) => `198.19.${(process.pid + at) % 256}`).find(
    (one) => !routes.includes(`${one}.`),
  )
  if (!net) throw new Error('every network of 198.19.0.0/16 is in use')
  const inside = ['-n', name]
  await run('ip', ['netns', 'add', name])
  await run('ip', ['link', 'add', `${name}h`, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name])
  await run('ip', ['address', 'add', `${net}.1/30`, 'dev', `${name}h`])
  await run('ip', ['link', 'set', `${name}h`, 'up'])
  await run('ip', [...inside, 'address', 'add', `${net}.2/30`, 'dev', 'eth0'])
  for (const device of ['lo', 'eth0']) await run('ip', [...inside, 'link', 'set', device, 'up'])
  await run('ip', [...inside, 'route', 'add', 'default', 'via', `${net}.1`])
  return `${net}.2`
}

/** Namespaces of test processes that were killed. Their links go with them. */
async function removeLeftNamespaces(): Promise<void> {
  const { stdout } = await run('ip', ['netns', 'list'])
  for (const [name, pid] of stdout.matchAll(new RegExp(`^${prefix}(\\d+)(?=\\s|$)`, 'gm')))
    if (!isAlive(Number(pid))) await run('ip', ['netns', 'delete', name])
}

async function unmountBelow(folder: string): Promise<void> {
  const mounts = (await readFile('/proc/mounts', 'utf8')).split('\n').map((line) => line.split(' ')[1] ?? '')
  for (const mount of mounts
    .filter((path) => path.startsWith(`${folder}/`))
    .sort()
    .reverse())
    await run('umount', ['-l', mount]).catch(() => undefined)
}

async function copyImage(name: string, from: Engine, to: Engine): Promise<void> {
  const progress = await to.loadImage(await from.getImage(name).get(), { quiet: true })
  await new Promise<void>((resolve, reject) => to.modem.followProgress(progress, (error) => (error ? reject(error) : resolve())))
}

const isInstalled = (program: string) =>
  (process.env.PATH ?? '').split(':').some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
