import type { GitHost } from '../../drivers/git-host/git-host.ts'
import { createServerLinks } from '../../drivers/shell/ssh/server-links.ts'
import type { UploadStore } from '../../drivers/upload-store/upload-store.ts'
import type { Config } from '../config/config.ts'
import type { Drivers } from '../drivers/drivers.ts'
import { configuredHosts } from '../drivers/git-hosts.ts'
import type { Parts } from './parts.ts'

/**
 * The drivers of an API process. The modules are assembled as in the worker, but every call of a driver throws: the rows that need
 * one are sent to the worker (`http/worker-rows.ts`).
 */
export const absentDrivers = (): Drivers => ({
  // Opens no connection by itself. The modules register their look-up of servers here.
  links: createServerLinks(),
  runtimes: absent('runtimes'),
  edge: absent('edge'),
  acme: absent('acme'),
  dnsChallenge: null,
  tlsProbe: absentCall('tlsProbe'),
  probe: absentCall('probe'),
  stores: absent('stores'),
  archives: absentCall('archives'),
  workFolder: '',
})

/** The other parts with a connection to the outside, or to a folder of the worker. */
export const absentParts = (config: Config): Required<Pick<Parts, AbsentPart>> => ({
  git: absent('git'),
  dns: absent('dns'),
  imageRegistry: absent('imageRegistry'),
  cloudApi: { send: absentCall('cloudApi.send'), close: () => undefined },
  logStore: absent('logStore'),
  serverReader: absentCall('serverReader'),
  gitHosts: {
    configured: configuredHosts(config),
    create: (provider, { webUrl }) => absent<GitHost>(`git host ${provider}`, { provider, webUrl }),
    localLogin: null,
  },
  deliveryDrivers: {
    webRequest: { send: absentCall('webRequest.send') },
    mailer: { configured: config.smtpUrl !== null, send: absentCall('mailer.send') },
  },
  instanceArchive: absent('instanceArchive'),
  uploadStore: absent<UploadStore>('uploadStore', { close: async () => undefined }),
})

type AbsentPart =
  | 'git'
  | 'dns'
  | 'imageRegistry'
  | 'cloudApi'
  | 'logStore'
  | 'serverReader'
  | 'gitHosts'
  | 'deliveryDrivers'
  | 'uploadStore'
  | 'instanceArchive'

/** A part whose facts can be read, and whose every method throws. */
const absent = <Part extends object>(part: string, facts: Partial<Part> = {}): Part =>
  new Proxy(facts as Part, {
    get: (target, name) => (name in target ? target[name as keyof Part] : absentCall(`${part}.${String(name)}`)),
  })

const absentCall = (name: string) => (): never => {
  throw new Error(`${name} was called in an API process: the row must be sent to the worker`)
}
