import { createSecureContext } from 'node:tls'
import type { EdgeCertificate, EdgeTable } from '../../../edge-proxy/protocol/edge-table.ts'
import { errorMessage } from '../../../platform/error-message.ts'

/** Messages of invalid pairs; null: valid. A changed certificate is a new object. */
const problems = new WeakMap<EdgeCertificate, string | null>()

/**
 * The table without the parts that nginx would refuse, or that the helper serves in an earlier form: one invalid certificate must not
 * hold up the other hosts.
 */
export function usableTable(table: EdgeTable, refused: Readonly<Record<string, string>>) {
  const warnings: string[] = []
  const certificates = Object.entries(table.certificates ?? {}).filter(([name, pair]) => {
    const problem = problemOf(pair)
    if (problem !== null) warnings.push(`certificate of ${JSON.stringify(name)}: ${problem}`)
    return problem === null
  })
  const hosts = Object.entries(table.hosts).filter(([name]) => !Object.hasOwn(refused, name.toLowerCase()))
  const usable: EdgeTable = { ...table, hosts: Object.fromEntries(hosts), certificates: Object.fromEntries(certificates) }
  return { usable, warnings }
}

function problemOf(pair: EdgeCertificate): string | null {
  const known = problems.get(pair)
  if (known !== undefined) return known
  const problem = check(pair)
  problems.set(pair, problem)
  return problem
}

function check({ cert, key }: EdgeCertificate): string | null {
  try {
    createSecureContext({ cert, key })
    return null
  } catch (cause) {
    return errorMessage(cause)
  }
}
