import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'

/** Work of one hash: `cost` is scrypt's N, a power of two; memory is 128 × cost × blockSize bytes. */
export interface PasswordWork {
  cost: number
  blockSize: number
  parallelization: number
}

/** About a quarter of a second of one core, and 16 MB. */
const standardWork: PasswordWork = { cost: 16_384, blockSize: 8, parallelization: 5 }

/** The parameters are part of the result, so that they can be raised later and old hashes still verify. */
export async function hashPassword(password: string, work: PasswordWork = standardWork): Promise<string> {
  const salt = randomBytes(16)
  const hash = await derive(password, salt, work)
  return `scrypt$N=${work.cost},r=${work.blockSize},p=${work.parallelization}$${salt.toString('base64url')}$${hash.toString('base64url')}`
}

/** `stored` is null for an unknown user: the same work is done, so that the response time reveals nothing. */
export async function verifyPassword(password: string, stored: string | null): Promise<boolean> {
  const { work, salt, hash } = parse(stored ?? unknownUserHash)
  const isEqual = timingSafeEqual(hash, await derive(password, salt, work))
  return isEqual && stored !== null
}

/** True if the hash has other parameters than the current ones: hash again at the next successful sign-in. */
export function needsRehash(stored: string, work: PasswordWork = standardWork): boolean {
  return JSON.stringify(parse(stored).work) !== JSON.stringify(work)
}

const hashBytes = 32
const unknownUserHash = `scrypt$N=${standardWork.cost},r=${standardWork.blockSize},p=${standardWork.parallelization}$${'A'.repeat(22)}$${'A'.repeat(43)}`
const form = /^scrypt\$N=(\d+),r=(\d+),p=(\d+)\$([\w-]+)\$([\w-]{43})$/

function parse(stored: string): { work: PasswordWork; salt: Buffer; hash: Buffer } {
  const parts = form.exec(stored)
  if (!parts) throw new Error('A stored password hash is damaged')
  const [, cost, blockSize, parallelization, salt, hash] = parts
  return {
    work: { cost: Number(cost), blockSize: Number(blockSize), parallelization: Number(parallelization) },
    salt: Buffer.from(salt!, 'base64url'),
    hash: Buffer.from(hash!, 'base64url'),
  }
}

/** Concurrent hashes: the thread pool also reads files and resolves names, and must not wait behind many sign-ins. */
const maxConcurrent = 2
let running = 0
const waiting: (() => void)[] = []

async function derive(password: string, salt: Buffer, work: PasswordWork): Promise<Buffer> {
  if (running >= maxConcurrent) await new Promise<void>((resolve) => waiting.push(resolve))
  else running++
  try {
    return await runScrypt(password.normalize('NFKC'), salt, work)
  } finally {
    const next = waiting.shift()
    if (next) next()
    else running--
  }
}

function runScrypt(password: string, salt: Buffer, { cost, blockSize, parallelization }: PasswordWork): Promise<Buffer> {
  const maxmem = 256 * cost * blockSize
  return new Promise((resolve, reject) =>
    scrypt(password, salt, hashBytes, { cost, blockSize, parallelization, maxmem }, (error, hash) =>
      error ? reject(error) : resolve(hash),
    ),
  )
}
