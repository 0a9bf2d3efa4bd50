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

/** A prefix that says what it names, and 100 random bits: it is no secret, but nobody guesses one. */
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
/** Drawn for 200 ids at a time: one by one it takes longer than the insert it is for. */
const drawn = Buffer.alloc(200 * characters)
let used = drawn.length
