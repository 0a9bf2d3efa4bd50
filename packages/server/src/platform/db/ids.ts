import { randomFillSync } from 'node:crypto'
import { pendingRecord } from './write-record.ts'

const alphabet = 'abcdefghijklmnopqrstuvwxyz234567'

export type IdPrefix =
  | 'prj'
  | 'env'
  | 'dep'
  | 'svc'
  | 'dom'
  | 'rul'
  | 'srv'
  | 'reg'
  | 'hok'
  | 'crn'
  | 'crr'
  | 'lnk'
  | 'upl'
  | 'bkd'
  | 'bkp'
  | 'bkr'
  | 'ibk'
  | 'rst'
  | 'nch'
  | 'nsb'
  | 'ndl'
  | 'tok'
  | 'usr'
  | 'org'
  | 'inv'
  | 'aud'
  | 'job'
  | 'ses'
  | 'psk'
  | 'sch'
  | 'grt'
  | 'ins'
  | 'vol'
  | 'gcn'
  | 'gdl'
  | 'gwh'
  | 'trf'
  | 'exe'
  | 'opr'
  | 'mch'

/** An id is a prefix that names the kind of object and 100 random bits. It is not a secret, but cannot be guessed. */
export function newId(prefix: IdPrefix): string {
  if (usedBytes === randomBytes.length) {
    randomFillSync(randomBytes)
    usedBytes = 0
  }
  let id = `${prefix}_`
  for (const end = usedBytes + idLength; usedBytes < end; usedBytes++) id += alphabet[(randomBytes[usedBytes] as number) & 31]
  pendingRecord()?.noteCreated(prefix, id)
  return id
}

const idLength = 20
/** Random bytes for 200 ids: generating them for each id takes longer than the insert. */
const randomBytes = Buffer.alloc(200 * idLength)
let usedBytes = randomBytes.length
