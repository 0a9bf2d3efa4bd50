import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openKeyRing } from './key-ring.ts'
import { createSecretBox } from './secret-box.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-signatures-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const boxOf = () => createSecretBox(openKeyRing({ folder, fromSettings: null }))

test('a signature is valid also after a restart', () => {
  const signature = boxOf().sign('message', 'purpose')
  expect(boxOf().isSigned(signature, 'message', 'purpose')).toBe(true)
})

test('another message, another purpose or an altered character is invalid', () => {
  const box = boxOf()
  const signature = box.sign('message', 'purpose')
  expect(box.isSigned(signature, 'message ', 'purpose')).toBe(false)
  expect(box.isSigned(signature, 'message', 'other')).toBe(false)
  for (let at = 0; at < signature.length; at++) {
    const altered = signature.slice(0, at) + (signature[at] === 'a' ? 'b' : 'a') + signature.slice(at + 1)
    expect(box.isSigned(altered, 'message', 'purpose')).toBe(false)
  }
  for (const nonsense of ['', '.', signature.slice(0, -1), `${signature}=`])
    expect(box.isSigned(nonsense, 'message', 'purpose')).toBe(false)
})

test('after a rotation a newer key signs, and older signatures stay valid in all processes', () => {
  const [box, other] = [boxOf(), boxOf()]
  const before = box.sign('message', 'purpose')
  box.rotate()
  const after = box.sign('message', 'purpose')
  expect(after).not.toBe(before)
  for (const each of [box, other])
    for (const signature of [before, after]) expect(each.isSigned(signature, 'message', 'purpose')).toBe(true)
})

test('a signature of another instance is invalid', () => {
  const signature = boxOf().sign('message', 'purpose')
  rmSync(folder, { recursive: true, force: true })
  expect(boxOf().isSigned(signature, 'message', 'purpose')).toBe(false)
})
