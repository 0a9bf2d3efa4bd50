// Set-up of the API suite: password hashes are made with little work, since a real one takes a quarter of a second of processor time
// and a sign-in needs several. The stored parameters are the real ones. The unit tests of `password.ts` make real hashes.
import crypto, { type ScryptOptions } from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'

const { scrypt } = crypto
const cheapWork = { cost: 16, blockSize: 1, parallelization: 1 }

type Done = Parameters<typeof scrypt>[4]

/** Recognises a password hash by its parameters. Other uses of scrypt, such as archive keys, keep theirs. */
const isOfPassword = ({ cost, parallelization }: ScryptOptions) => cost === 16_384 && parallelization === 5

const isCheap = Symbol.for('berth.cheapPasswordHashes')

if (!(isCheap in globalThis)) {
  // The test files of one worker share its loaded modules: one replacement is enough.
  Object.assign(globalThis, { [isCheap]: true })
  crypto.scrypt = ((password: string, salt: Buffer, length: number, work: ScryptOptions, done: Done) =>
    scrypt(password, salt, length, isOfPassword(work) ? cheapWork : work, done)) as typeof scrypt
  syncBuiltinESMExports()
}
