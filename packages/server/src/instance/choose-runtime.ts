import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type Config, ConfigError } from '../config.ts'
import { createProcessRuntime } from '../drivers/runtime/process/process-runtime.ts'
import type { Runtime } from '../drivers/runtime/runtime.ts'
import { createRunCommand } from '../drivers/shell/run-command.ts'
import type { Logger } from '../logger.ts'

const answersWithinMs = 5_000

/** `auto`: docker where an engine answers, else plain processes. */
export async function chooseRuntime(config: Config, logger: Logger): Promise<Runtime> {
  const { runtime } = config
  if (runtime === 'swarm')
    throw new ConfigError('BERTH_RUNTIME', 'BERTH_RUNTIME is "swarm": it must be auto, docker or process in this version')
  if (runtime === 'process') return processes(config)
  if (runtime === 'auto' && !existsSync(config.dockerSocket)) return processes(config)
  const docker = await containers(config, logger)
  try {
    const { version } = await docker.check(AbortSignal.timeout(answersWithinMs))
    logger.info({ version, socket: config.dockerSocket }, 'projects run in Docker')
    return docker
  } catch (error) {
    await docker.close()
    const words = error instanceof Error ? error.message : String(error)
    if (runtime === 'docker') throw new ConfigError('BERTH_RUNTIME', `BERTH_RUNTIME is "docker", but: ${words}`)
    logger.warn({ words }, 'the Docker engine does not answer: projects run as plain processes')
    return processes(config)
  }
}

const processes = (config: Config) => createProcessRuntime({ folder: processFolder(config), environment: config.environment })

/** Loaded only where it is used: the client of the engine is large. */
async function containers(config: Config, logger: Logger) {
  const { dataDir, dockerSocket, imageMirror, baseImages, mode, edgePort, edgeTlsPort, environment } = config
  const { createDockerRuntime } = await import('../drivers/runtime/docker/docker-runtime.ts')
  const { publicRegistries } = await import('../drivers/runtime/docker/images.ts')
  const isCloud = mode === 'cloud'
  const given = Object.entries(baseImages).flatMap(([stack, image]) => (image === null ? [] : [[stack, image]]))
  return createDockerRuntime({
    socketPath: dockerSocket,
    folder: join(dataDir, 'docker'),
    imageMirror,
    baseImages: Object.fromEntries(given),
    registries: config.imageRegistries ?? (isCloud ? publicRegistries : null),
    fence: {
      shell: createRunCommand(environment),
      isStrict: isCloud,
      openPorts: [edgePort, edgeTlsPort ?? 0],
      onChange: ({ inForce, words }) => logger[inForce ? 'info' : isCloud ? 'error' : 'warn'](words),
    },
  })
}

/**
 * As root each project runs as a user of its own, who must be able to reach its files; the data folder is for its owner
 * alone. The name is made from the data folder, so that two instances never share one.
 */
function processFolder({ dataDir }: Config): string {
  if (process.getuid?.() !== 0) return join(dataDir, 'processes')
  return join('/var/lib/berth', createHash('sha256').update(dataDir).digest('hex').slice(0, 16))
}
