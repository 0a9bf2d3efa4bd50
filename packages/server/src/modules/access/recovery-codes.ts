import type { Db } from '../../platform/db/schema.ts'
import { hashToken } from '../../platform/secrets/token.ts'
import { randomCode } from './random-code.ts'

const codeCount = 10
const groups = 4
const groupLength = 4

/** Replaces the user's recovery codes. The codes are returned once; only their hashes are stored. */
export async function replaceRecoveryCodes(db: Db, userId: string): Promise<string[]> {
  const codes = Array.from({ length: codeCount }, newCode)
  await deleteRecoveryCodes(db, userId)
  await db
    .insertInto('recoveryCodes')
    .values(codes.map((code) => ({ userId, codeHash: hashOf(code) })))
    .execute()
  return codes
}

export const deleteRecoveryCodes = (db: Db, userId: string) =>
  db.deleteFrom('recoveryCodes').where('userId', '=', userId).execute()

/** Deletes the code, which is single use. False if the user has no such code. */
export async function spendRecoveryCode(db: Db, userId: string, code: string): Promise<boolean> {
  const spent = await db
    .deleteFrom('recoveryCodes')
    .where('userId', '=', userId)
    .where('codeHash', '=', hashOf(code))
    .returning('userId')
    .executeTakeFirst()
  return spent !== undefined
}

export async function countRecoveryCodes(db: Db, userId: string): Promise<number> {
  const { count } = await db
    .selectFrom('recoveryCodes')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('userId', '=', userId)
    .executeTakeFirstOrThrow()
  return Number(count)
}

/** 80 random bits: an unsalted hash cannot be reversed by guessing. */
const newCode = (): string => Array.from({ length: groups }, () => randomCode(groupLength)).join('-')

/** Users type codes with or without hyphens, in any case. */
const hashOf = (code: string): string => hashToken(code.toLowerCase().replace(/[^a-z2-7]/g, ''))
