import { createServerLinks } from '../../drivers/shell/ssh/server-links.ts'
import type { Drivers } from '../drivers/drivers.ts'
import type { Parts } from './parts.ts'

/**
 * The drivers of an API process. The modules are assembled as in the worker, but every call of a driver throws: the rows that need
 * one are sent to the worker (`http/worker-rows.ts`).
 */
export const absentDrivers = (): Drivers => ({
  // Connects to nothing by itself: the modules register at it where they look up servers.
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
export const absentParts = (): Required<
  Pick<Parts, 'git' | 'dns' | 'imageRegistry' | 'cloudApi' | 'logStore' | 'serverReader'>
> => ({
  git: absent('git'),
  dns: absent('dns'),
  imageRegistry: absent('imageRegistry'),
  cloudApi: { send: absentCall('cloudApi.send'), close: () => undefined },
  logStore: absent('logStore'),
  serverReader: absentCall('serverReader'),
})

const absent = <Part extends object>(part: string): Part =>
  new Proxy({} as Part, { get: (_target, name) => absentCall(`${part}.${String(name)}`) })

const absentCall = (name: string) => (): never => {
  throw new Error(`${name} was called in an API process: the row must be sent to the worker`)
}
