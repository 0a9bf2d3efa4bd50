import { ServerUnreachable } from '../../drivers/shell/ssh/server-unreachable.ts'
import { reachOf } from '../../drivers/web-request/address-reach.ts'
import { isThisMachine, isThisMachineByName, literalAddress } from '../../drivers/web-request/own-addresses.ts'
import { publicNames, systemNames } from '../../drivers/web-request/resolve.ts'

type Mode = 'self-hosted' | 'cloud'

/** Whether only operators may connect to an address: an address of this machine; in a cloud every address that is not public. */
export const isOwnMachine = (address: string, mode: Mode): boolean =>
  isThisMachine(address) || (mode === 'cloud' && reachOf(address.replace(/%.*$/, '')) !== 'public')

/** The same for a host name or literal address, without a DNS lookup: a name may still resolve to such an address. */
export const isOwnMachineByName = (host: string, mode: Mode): boolean => {
  const address = literalAddress(host)
  return address === null ? isThisMachineByName(host) : isOwnMachine(address, mode)
}

/** Resolves the host to an allowed address. The connection uses this very address, so DNS cannot change it afterwards. */
export async function validatedAddress(host: string, mayBeHere: boolean, mode: Mode, abort: AbortSignal): Promise<string> {
  const literal = literalAddress(host)
  const resolve = mode === 'cloud' ? publicNames() : systemNames
  const addresses = literal === null ? await Promise.race([resolve(host, abort), aborted(abort)]) : [literal]
  const allowed = mayBeHere ? addresses[0] : addresses.find((address) => !isOwnMachine(address, mode))
  if (allowed) return allowed
  throw new ServerUnreachable(
    'address_refused',
    `${host} is this machine or in its network. Only an operator of the instance can add such a server.`,
  )
}

const aborted = (abort: AbortSignal) =>
  new Promise<never>((_, reject) => abort.addEventListener('abort', () => reject(abort.reason), { once: true }))
