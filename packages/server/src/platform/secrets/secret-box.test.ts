import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert, property, string } from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openKeyRing } from './key-ring.ts'
import { Secret } from './secret.ts'
import { createSecretBox, SecretBoxError } from './secret-box.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-secrets-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const boxOf = (key?: string) => createSecretBox(openKeyRing({ folder, fromSettings: key ? new Secret(key) : null }))

describe('sealing', () => {
  test('any text is unsealed byte for byte with its own context', () => {
    const box = boxOf()
    assert(property(string({ unit: 'binary' }), (value) => box.open(box.seal(value, 'a:b:1'), 'a:b:1').reveal() === value))
  })

  test('sealing a value twice gives different ciphertexts, neither containing it', () => {
    const box = boxOf()
    const [one, two] = [box.seal('canary-value', 'p'), box.seal(new Secret('canary-value'), 'p')]
    expect(one).not.toBe(two)
    expect(one).toMatch(/^v1\.[0-9a-f]{8}\.[\w-]+\.[\w-]+$/)
    expect(Buffer.from(one.split('.')[3]!, 'base64url').toString('latin1')).not.toContain('canary')
  })

  test('a ciphertext moved to another row cannot be unsealed', () => {
    const box = boxOf()
    const sealed = box.seal('value', 'env_vars:value:1')
    expect(() => box.open(sealed, 'env_vars:value:2')).toThrow(/altered, or copied from another column/)
  })

  test('any altered character is detected', () => {
    const box = boxOf()
    const sealed = box.seal('a longer value', 'p')
    for (let at = sealed.length - 25; at < sealed.length; at++) {
      const other = sealed[at] === 'A' ? 'Q' : 'A'
      const altered = sealed.slice(0, at) + other + sealed.slice(at + 1)
      expect(() => box.open(altered, 'p')).toThrow(SecretBoxError)
    }
    expect(() => box.open(sealed.slice(0, -4), 'p')).toThrow(SecretBoxError)
    expect(() => box.open('nonsense', 'p')).toThrow(/damaged/)
  })

  test('a wrong key is an error with the needed and the known key ids', () => {
    const sealed = boxOf('a first key of some length').seal('value', 'p')
    const other = boxOf('another key of some length')
    expect(() => other.open(sealed, 'p')).toThrow(new RegExp(`needs key ${sealed.split('.')[1]}.*BERTH_SECRET_KEY`))
  })

  test('a text that is not valid Unicode is refused', () => {
    expect(() => boxOf().seal('\ud800', 'p')).toThrow(SecretBoxError)
  })
})

describe('keys', () => {
  test('without BERTH_SECRET_KEY a key is created once, readable by its owner only', () => {
    const sealed = boxOf().seal('value', 'p')
    expect(statSync(join(folder, 'secret-keys.json')).mode & 0o777).toBe(0o600)
    expect(boxOf().open(sealed, 'p').reveal()).toBe('value')
    expect(readdirSync(folder)).toEqual(['secret-keys.json'])
  })

  test('with BERTH_SECRET_KEY no file is created, and the key works after a restart', () => {
    const sealed = boxOf('correct horse battery').seal('value', 'p')
    expect(readdirSync(folder)).toEqual([])
    expect(boxOf('correct horse battery').open(sealed, 'p').reveal()).toBe('value')
  })

  test('moving from the file to BERTH_SECRET_KEY keeps old secrets readable', () => {
    const sealed = boxOf().seal('value', 'p')
    const box = boxOf('correct horse battery')
    expect(box.needsRotation(sealed)).toBe(true)
    expect(box.needsRotation(box.reseal(sealed, 'p'))).toBe(false)
    expect(box.open(sealed, 'p').reveal()).toBe('value')
  })

  test('rotating adds a key: old secrets can be unsealed and need rotation, new ones use the new key', () => {
    const box = boxOf()
    const old = box.seal('value', 'p')
    expect(box.needsRotation(old)).toBe(false)
    box.rotate()
    expect(box.needsRotation(old)).toBe(true)
    const moved = box.reseal(old, 'p')
    expect(box.needsRotation(moved)).toBe(false)
    for (const sealed of [old, moved]) expect(boxOf().open(sealed, 'p').reveal()).toBe('value')
  })

  test('a running process unseals values that another one sealed after a rotation', () => {
    const running = boxOf()
    const other = boxOf()
    other.rotate()
    expect(running.open(other.seal('value', 'p'), 'p').reveal()).toBe('value')
  })

  test('rotations by two processes keep both keys', () => {
    const [one, two] = [boxOf(), boxOf()]
    one.rotate()
    const byOne = one.seal('one', 'p')
    two.rotate()
    expect(boxOf().open(byOne, 'p').reveal()).toBe('one')
    expect(JSON.parse(readFileSync(join(folder, 'secret-keys.json'), 'utf8')).keys).toHaveLength(3)
  })

  test('several keys in BERTH_SECRET_KEY: the first seals, all unseal; rotating is refused with instructions', () => {
    const old = boxOf('the older key of the two').seal('value', 'p')
    const box = boxOf('the newer key of the two,the older key of the two')
    expect(box.needsRotation(old)).toBe(true)
    expect(box.open(old, 'p').reveal()).toBe('value')
    expect(() => box.rotate()).toThrow(/in front of/)
  })

  test('a damaged key file stops the start and is not replaced', () => {
    writeFileSync(join(folder, 'secret-keys.json'), '{"keys":["c2hvcnQ"]}')
    expect(() => boxOf()).toThrow(/damaged/)
    writeFileSync(join(folder, 'secret-keys.json'), '{"keys":[')
    expect(() => boxOf()).toThrow(/damaged/)
    expect(readFileSync(join(folder, 'secret-keys.json'), 'utf8')).toBe('{"keys":[')
  })

  test('printing the key ring shows no key', () => {
    const ring = openKeyRing({ folder, fromSettings: new Secret('canary-canary-canary') })
    expect(JSON.stringify(ring.keys())).not.toContain('canary')
  })
})
