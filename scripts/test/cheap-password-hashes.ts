// Set-up of the API suite: a password hash takes a quarter of a second of processor time, and sign-ins need several. The work that a
// hash is stored with stays the real one, and the unit tests of `password.ts` run it.
import crypto, { type ScryptOptions } from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'

const { scrypt } = crypto
const cheapWork = { cost: 16, blockSize: 1, parallelization: 1 }

type Done = Parameters<typeof scrypt>[4]

/** A hash of another purpose, such as a key of an archive, keeps its work. */
const isOfPassword = ({ cost, parallelization }: ScryptOptions) => cost === 16_384 && parallelization === 5

const isCheap = Symbol.for('berth.cheapPasswordHashes')

if (!(isCheap in globalThis)) {
  // Files of a worker share the modules that it has loaded: once is enough.
  Object.assign(globalThis, { [isCheap]: true })
  crypto.scrypt = ((password: string, salt: Buffer, length: number, work: ScryptOptions, done: Done) =>
    scrypt(password, salt, length, isOfPassword(work) ? cheapWork : work, done)) as typeof scrypt
  syncBuiltinESMExports()
}
