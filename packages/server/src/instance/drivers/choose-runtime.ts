import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { publicRegistries } from '../../drivers/registry/public-registries.ts'
import type { EgressFilterState } from '../../drivers/runtime/docker/run/egress-filter.ts'
import { operatorText } from '../../drivers/runtime/engine-unreachable.ts'
import { createProcessRuntime } from '../../drivers/runtime/process/process-runtime.ts'
import { NoSandbox, openSandbox } from '../../drivers/runtime/process/sandbox/open-sandbox.ts'
import type { IsolationKind, Sandbox } from '../../drivers/runtime/process/sandbox/sandbox.ts'
import type { Runtime } from '../../drivers/runtime/runtime.ts'
import { lazyRuntime } from '../../drivers/runtime/server/lazy-runtime.ts'
import { createRunCommand } from '../../drivers/shell/run-command.ts'
import type { ServerLinks } from '../../drivers/shell/ssh/server-link.ts'
import { ConfigError } from '../../platform/config-error.ts'
import type { Config } from '../config/config.ts'
import type { Logger } from '../logger.ts'

const maxCheckMs = 5_000

/** Chooses the runtime. `auto`: Docker if an engine answers, else plain processes. */
export async function chooseRuntime(config: Config, logger: Logger): Promise<Runtime> {
  const { runtime } = config
  if (runtime === 'process') return processRuntime(config, logger)
  if (runtime === 'swarm') return swarmRuntime(config, logger)
  if (runtime === 'auto' && !existsSync(config.dockerSocket)) return processRuntime(config, logger)
  const docker = await dockerRuntime(config, logger)
  try {
    const { version } = await docker.check(AbortSignal.timeout(maxCheckMs))
    logger.info({ version, socket: config.dockerSocket }, 'runtime: projects run in Docker')
    return docker
  } catch (error) {
    await docker.close()
    const message = operatorText(error)
    if (runtime === 'docker')
      throw new ConfigError('BERTH_RUNTIME', `BERTH_RUNTIME is "docker", but Docker cannot be used: ${message}`)
    logger.warn({ reason: message }, 'runtime: Docker engine is unreachable, projects run as plain processes')
    return processRuntime(config, logger)
  }
}

/** Opens the swarm of this machine's engine. Stops the start if projects cannot run in it. */
async function swarmRuntime(config: Config, logger: Logger): Promise<Runtime> {
  const refuse = (reason: string) => new ConfigError('BERTH_RUNTIME', `BERTH_RUNTIME is "swarm", but ${reason}`)
  if (config.mode === 'cloud')
    throw refuse('a swarm cannot forbid new privileges to containers. With BERTH_MODE "cloud" use docker')
  const { createSwarmRuntime } = await import('../../drivers/runtime/swarm/swarm-runtime.ts')
  const swarm = createSwarmRuntime(dockerSettings(config, logger))
  try {
    const { version } = await swarm.check(AbortSignal.timeout(maxCheckMs))
    const { nodes } = await swarm.node(AbortSignal.timeout(maxCheckMs))
    if (nodes > 1)
      throw new Error(
        `its swarm has ${nodes} nodes, and this version runs projects in a swarm of one node only. Remove the others`,
      )
    logger.info({ version, socket: config.dockerSocket }, 'runtime: projects run as services of a swarm')
    return swarm
  } catch (error) {
    await swarm.close()
    throw refuse(operatorText(error))
  }
}

function processRuntime(config: Config, logger: Logger): Runtime {
  const folder = processFolder(config.dataDir)
  const sandbox = sandboxFor(config, folder)
  if (config.mode === 'cloud' && sandbox.kind === 'none')
    throw new ConfigError(
      'BERTH_MODE',
      'BERTH_MODE is "cloud": it must be self-hosted unless projects are isolated (use Docker, install bubblewrap or run as root)',
    )
  const { kind, message } = sandbox
  logger[kind === 'none' ? 'warn' : 'info']({ isolation: kind, details: message }, 'runtime: projects run as plain processes')
  return createProcessRuntime({ folder, environment: config.environment, sandbox })
}

function sandboxFor({ dataDir, environment, isolation }: Config, folder: string): Sandbox {
  const kinds: readonly IsolationKind[] = isolation === 'auto' ? ['bubblewrap', 'own-users', 'none'] : [isolation]
  try {
    return openSandbox({ folder, dataDir, environment, kinds })
  } catch (error) {
    if (!(error instanceof NoSandbox)) throw error
    const variable = isolation === 'auto' ? 'BERTH_DATA_DIR' : 'BERTH_ISOLATION'
    throw new ConfigError(variable, isolation === 'auto' ? error.message : `${variable} is "${isolation}", but: ${error.message}`)
  }
}

/** The process runtime's folder, below the data folder. */
export const processFolder = (dataDir: string) => join(dataDir, 'processes')

/** Imported only when used: the Docker client is large. */
async function dockerRuntime(config: Config, logger: Logger) {
  const { createDockerRuntime } = await import('../../drivers/runtime/docker/docker-runtime.ts')
  return createDockerRuntime(dockerSettings(config, logger))
}

function dockerSettings(config: Config, logger: Logger) {
  const { dataDir, dockerSocket, mode, edgePort, edgeTlsPort, environment } = config
  const isCloud = mode === 'cloud'
  return {
    ...imageSettings(config),
    addresses: { ranges: config.networkRanges },
    socketPath: dockerSocket,
    folder: join(dataDir, 'docker'),
    egressFilter: {
      shell: createRunCommand(environment),
      isStrict: isCloud,
      openPorts: [edgePort, edgeTlsPort ?? 0],
      onChange: ({ inForce, message }: EgressFilterState) => logger[inForce ? 'info' : isCloud ? 'error' : 'warn'](message),
    },
  }
}

/** Registries that images may be pulled from; null: any. */
export const allowedRegistries = ({
  imageRegistries,
  mode,
}: Pick<Config, 'imageRegistries' | 'mode'>): readonly string[] | null =>
  imageRegistries ?? (mode === 'cloud' ? publicRegistries : null)

function imageSettings(config: Config) {
  const { imageMirror, baseImages, buildCacheMb, allowRoot } = config
  const configured = Object.entries(baseImages).flatMap(([stack, image]) => (image === null ? [] : [[stack, image]]))
  return {
    imageMirror,
    baseImages: Object.fromEntries(configured) as Record<string, string>,
    registries: allowedRegistries(config),
    buildCacheBytes: buildCacheMb === null ? null : buildCacheMb * 1024 ** 2,
    allowRoot,
  }
}

/** Opens the runtime of a server. Its code is imported with the first server. */
export function serverRuntimes(config: Config, links: ServerLinks): (serverId: string) => Runtime {
  return (serverId) =>
    lazyRuntime(async () => {
      const { createServerRuntime } = await import('../../drivers/runtime/server/server-runtime.ts')
      const folder = join(config.dataDir, 'servers', serverId)
      const addresses = { ranges: config.networkRanges }
      return createServerRuntime({ ...imageSettings(config), addresses, link: links.for(serverId), folder })
    })
}
