import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Acme } from '../../drivers/acme/acme.ts'
import { createAcme } from '../../drivers/acme/acme-client.ts'
import type { Archives } from '../../drivers/archive/archive.ts'
import type { ArchiveStores } from '../../drivers/archive-store/archive-store.ts'
import { createArchiveStores } from '../../drivers/archive-store/create-archive-stores.ts'
import { createDnsChallenge } from '../../drivers/dns-challenge/create-dns-challenge.ts'
import type { DnsChallenge } from '../../drivers/dns-challenge/dns-challenge.ts'
import type { EdgeDriver } from '../../drivers/edge/edge.ts'
import { EmbeddedEdge } from '../../drivers/edge/embedded-edge.ts'
import { NginxEdge } from '../../drivers/edge/nginx/nginx-edge.ts'
import { endNginx } from '../../drivers/edge/nginx/nginx-process.ts'
import { type Probe, probe } from '../../drivers/probe/probe.ts'
import type { Runtimes } from '../../drivers/runtime/runtimes.ts'
import { createRuntimes } from '../../drivers/runtime/server/create-runtimes.ts'
import { createRunCommand } from '../../drivers/shell/run-command.ts'
import type { ServerLinks } from '../../drivers/shell/ssh/server-link.ts'
import { createServerLinks } from '../../drivers/shell/ssh/server-links.ts'
import { probeTls, type TlsProbe } from '../../drivers/tls-probe/tls-probe.ts'
import { backupKeyFile, openArchives } from '../backup-key.ts'
import type { Config } from '../config/config.ts'
import type { Logger } from '../logger.ts'
import { chooseRuntime, serverRuntimes } from './choose-runtime.ts'

/** The external systems that an instance uses, behind interfaces. */
export interface Drivers {
  runtimes: Runtimes
  /** Servers over SSH. */
  links: ServerLinks
  edge: EdgeDriver
  acme: Acme
  /** The DNS provider of the base domain; null if none is configured. */
  dnsChallenge: DnsChallenge | null
  tlsProbe: TlsProbe
  probe: Probe
  /** Backup destinations. */
  stores: ArchiveStores
  /** Encrypted backup archives. The instance's key is created at the first call. */
  archives(): Promise<Archives>
  /** Parent of the work folders of running deployments. */
  workFolder: string
}

export async function createDrivers(config: Config, version: string, logger: Logger): Promise<Drivers> {
  const { dataDir } = config
  const links = createServerLinks()
  return {
    links,
    runtimes: createRuntimes(await chooseRuntime(config, logger), links, serverRuntimes(config, links)),
    edge: createEdge(config, version, logger),
    acme: createAcme({ directoryUrl: config.acmeDirectory, email: config.acmeEmail }),
    dnsChallenge: createDnsChallenge({ ...config.dns, run: createRunCommand(config.environment) }),
    tlsProbe: probeTls,
    probe,
    stores: createArchiveStores({ log: logger, allowPrivate: config.mode !== 'cloud' }),
    archives: openArchives(backupKeyFile(dataDir), logger),
    workFolder: join(dataDir, 'work'),
  }
}

/** The settings may have named another kind of edge when the running one was started. */
function createEdge(config: Config, version: string, logger: Logger): EdgeDriver {
  const host = config.edgeHost ?? config.host
  const nginxFolder = join(config.dataDir, 'nginx')
  const options = {
    folder: edgeFolder(config.dataDir),
    http: { host, port: config.edgePort },
    https: config.edgeTlsPort === null ? null : { host, port: config.edgeTlsPort },
    ...edgeProgram(version),
    onError: (message: string) => logger.warn({ problem: message }, 'edge: problem reported'),
  }
  return config.edge === 'nginx'
    ? new NginxEdge({ ...options, nginxFolder, run: createRunCommand(config.environment), path: config.environment.PATH ?? '' })
    : new EmbeddedEdge({ ...options, endOther: () => endNginx(nginxFolder, 5_000) })
}

/** The folder of the embedded edge, below the data folder. */
export const edgeFolder = (dataDir: string) => join(dataDir, 'edge')

/**
 * The edge program: in a bundle it is next to the server; from source it runs directly. An edge of another build is replaced, also one
 * of the same build in another folder: an upgrade removes the folders of older versions.
 */
function edgeProgram(version: string): { entry?: string; buildId: string } {
  const entry = fileURLToPath(new URL('../edge.js', import.meta.url))
  if (!existsSync(entry)) return { buildId: version }
  return { entry, buildId: createHash('sha256').update(entry).update(readFileSync(entry)).digest('hex').slice(0, 16) }
}
