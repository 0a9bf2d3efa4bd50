import crypto from 'node:crypto'
import { expect, test } from 'vitest'
import { callsOf } from '../../../../../tests/kit/count-work.ts'
import { hashPassword, needsRehash, verifyPassword } from './password.ts'
import { constantTimeEqual, hashToken } from './token.ts'

const quick = { cost: 1024, blockSize: 8, parallelization: 1 }

test('the right password verifies, another does not', async () => {
  const stored = await hashPassword('correct horse', quick)
  expect(stored).not.toContain('correct')
  expect(await verifyPassword('correct horse', stored)).toBe(true)
  expect(await verifyPassword('correct horsf', stored)).toBe(false)
  expect(await verifyPassword('', stored)).toBe(false)
})

test('hashing a password twice gives two hashes', async () => {
  expect(await hashPassword('correct horse', quick)).not.toBe(await hashPassword('correct horse', quick))
})

test('composed and decomposed Unicode forms are the same password', async () => {
  expect(await verifyPassword('cafe\u0301', await hashPassword('caf\u00e9', quick))).toBe(true)
})

test('a hash with other parameters verifies and needs a rehash', async () => {
  const stored = await hashPassword('correct horse', quick)
  expect(needsRehash(stored)).toBe(true)
  expect(needsRehash(stored, quick)).toBe(false)
})

test('an unknown user costs as much work as a known one', async () => {
  const stored = await hashPassword('correct horse')
  expect(needsRehash(stored)).toBe(false)
  const workFor = async (user: string | null) => {
    const calls = await callsOf(crypto, 'scrypt', async () => expect(await verifyPassword('wrong', user)).toBe(false))
    return calls.map(([password, salt, bytes, work]) => [password, (salt as Buffer).length, bytes, work])
  }
  const known = await workFor(stored)
  expect(known).toHaveLength(1)
  expect(await workFor(null)).toEqual(known)
})

test('many concurrent verifications all end', async () => {
  const stored = await hashPassword('correct horse', quick)
  const results = await Promise.all(
    Array.from({ length: 20 }, (_, n) => verifyPassword(n % 2 ? 'correct horse' : 'wrong', stored)),
  )
  expect(results.filter(Boolean)).toHaveLength(10)
})

test('a damaged hash is an error', async () => {
  await expect(verifyPassword('x', 'scrypt$nonsense')).rejects.toThrow('damaged')
})

test('only the SHA-256 of a token is stored', () => {
  expect(hashToken('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad')
})

test('the constant-time comparison works for any lengths', () => {
  expect(constantTimeEqual('same', 'same')).toBe(true)
  expect(constantTimeEqual('same', 'sama')).toBe(false)
  expect(constantTimeEqual('same', 'same longer')).toBe(false)
})
