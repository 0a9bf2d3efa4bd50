import { readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { bootId } from '../platform/boot-id.ts'
import { newId } from '../platform/db/ids.ts'
import type { MachineIdentity } from '../platform/machines/machine-lease.ts'
import type { Config } from './config/config.ts'

export const machineFileName = 'machine.json'

/** The identity of this machine: the id in its data folder, created at the first start, and where the folder is. */
export function readMachineIdentity({ dataDir, role }: Pick<Config, 'dataDir' | 'role'>): MachineIdentity {
  const file = join(dataDir, machineFileName)
  const id = readId(file) ?? createId(file)
  // A copy of the file has another inode, and another machine has another boot id.
  const { dev, ino } = statSync(file, { bigint: true })
  const location = `${bootId() ?? hostname()} ${dev}:${ino}`
  return { id, hostname: hostname(), dataDir, role: role === 'worker' ? 'worker' : 'all', location }
}

function readId(file: string): string | null {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
  const id = idIn(text)
  if (id === null)
    throw new Error(`${file} does not contain a machine id. Restore it from a copy, or remove it and run berth up --take-over.`)
  return id
}

function idIn(text: string): string | null {
  try {
    const { id } = JSON.parse(text) as { id?: unknown }
    return typeof id === 'string' && /^mch_[a-z2-7]{20}$/.test(id) ? id : null
  } catch {
    return null
  }
}

/** Only the holder of the folder's lock calls this. */
function createId(file: string): string {
  const id = newId('mch')
  writeFileSync(`${file}.tmp`, `${JSON.stringify({ id })}\n`, { mode: 0o600, flush: true })
  renameSync(`${file}.tmp`, file)
  return id
}
