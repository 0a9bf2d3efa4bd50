import { Decrypter, Encrypter } from 'age-encryption'
import { expect, test } from 'vitest'
import { passphraseIdentity, passphraseRecipient } from './passphrase.ts'

const work = 10

async function locked(passphrase: string): Promise<Uint8Array> {
  const encrypter = new Encrypter()
  encrypter.addRecipient(passphraseRecipient(passphrase, work))
  return encrypter.encrypt('what is kept')
}

function unlock(file: Uint8Array, passphrase: string): Promise<string> {
  const decrypter = new Decrypter()
  decrypter.addIdentity(passphraseIdentity(passphrase))
  return decrypter.decrypt(file, 'text')
}

test('a file encrypted here can be decrypted by age, and vice versa', async () => {
  const decrypter = new Decrypter()
  decrypter.addPassphrase('correct horse')
  expect(await decrypter.decrypt(await locked('correct horse'), 'text')).toBe('what is kept')

  const encrypter = new Encrypter()
  encrypter.setScryptWorkFactor(work)
  encrypter.setPassphrase('correct horse')
  expect(await unlock(await encrypter.encrypt('of age'), 'correct horse')).toBe('of age')
})

test('a wrong passphrase, a changed file and an excessive work factor are errors', async () => {
  const file = await locked('correct horse')
  await expect(unlock(file, 'wrong horse')).rejects.toThrow()
  const text = Buffer.from(file).toString('latin1')
  for (const work of ['21', '99', '-1', '1e1', '0'])
    await expect(unlock(Buffer.from(text.replace(/ 10\n/, ` ${work}\n`), 'latin1'), 'correct horse')).rejects.toThrow()
  const changed = Buffer.from(file)
  changed[changed.length - 1] = (changed.at(-1) as number) ^ 1
  await expect(unlock(changed, 'correct horse')).rejects.toThrow()
})
