import { randomFillSync } from 'node:crypto'
import { pendingRecord } from '../write-record.ts'

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
  | 'upl'
  | 'bkd'
  | 'bkp'
  | 'bkr'
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

/** An id is a prefix that names the kind of object and 100 random bits. It is not a secret, but cannot be guessed. */
export function newId(prefix: IdPrefix): string {
  if (used === drawn.length) {
    randomFillSync(drawn)
    used = 0
  }
  let id = `${prefix}_`
  for (const end = used + characters; used < end; used++) id += alphabet[(drawn[used] as number) & 31]
  pendingRecord()?.noteMade(prefix, id)
  return id
}

const characters = 20
/** Random bytes for 200 ids at a time: drawing them one by one takes longer than the insert. */
const drawn = Buffer.alloc(200 * characters)
let used = drawn.length
