import { randomBytes } from 'node:crypto'

const alphabet = 'abcdefghijklmnopqrstuvwxyz234567'

export type IdPrefix =
  | 'prj'
  | 'env'
  | 'dep'
  | 'svc'
  | 'dom'
  | 'rul'
  | 'srv'
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

/** A prefix that says what it names, and 100 random bits: it is no secret, but nobody guesses one. */
export function newId(prefix: IdPrefix): string {
  let id = `${prefix}_`
  for (const byte of randomBytes(20)) id += alphabet[byte & 31]
  return id
}
