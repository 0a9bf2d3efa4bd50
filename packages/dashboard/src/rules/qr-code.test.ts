import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { qrCode } from './qr-code.ts'

/** Hashes of the modules that another encoder (uqr 0.1.3) drew for the same text, version, level and mask. */
test.each([
  ['a', '7780622b933b52e58314cd29776a841e'],
  ['otpauth://totp/Berth:ann%40example.test?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ', '14cc62a34c0b13dd67dd444f4272e463'],
  ['z'.repeat(230), '3a1c031d41258c002cb0235df8476592'],
])('%s', (text, expected) => {
  const rows = qrCode(text)?.map((row) => row.map(Number).join(''))
  expect(
    createHash('sha256')
      .update(rows?.join('\n') ?? '')
      .digest('hex')
      .slice(0, 32),
  ).toBe(expected)
})

test('a text that does not fit has no QR code', () => {
  expect(qrCode('z'.repeat(231))).toBeNull()
})
