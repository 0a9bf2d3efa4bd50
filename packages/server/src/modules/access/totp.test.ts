import { expect, test } from 'vitest'
import { newTotpSecret, stepOfTotpCode, totpCode, totpStepAt, totpUri } from './totp.ts'

/** `12345678901234567890`, the secret of RFC 6238, appendix B. */
const rfcSecret = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ'

test.each([
  [59, '94287082'],
  [1111111109, '07081804'],
  [1111111111, '14050471'],
  [1234567890, '89005924'],
  [2000000000, '69279037'],
  [20000000000, '65353130'],
])('RFC 6238: at %i s the code is %s', (seconds, code) => {
  const step = totpStepAt(seconds * 1000)
  expect(totpCode(rfcSecret, step, 8)).toBe(code)
  expect(totpCode(rfcSecret, step)).toBe(code.slice(2))
})

test('the codes of the step before and after are accepted, and no others', () => {
  const now = 1_700_000_000_000
  const accepted = [-2, -1, 0, 1, 2].map((offset) => {
    const step = totpStepAt(now) + offset
    return stepOfTotpCode(rfcSecret, totpCode(rfcSecret, step), now) === step
  })
  expect(accepted).toEqual([false, true, true, true, false])
  for (const code of ['', '000000x', `${totpCode(rfcSecret, totpStepAt(now))}0`])
    expect(stepOfTotpCode(rfcSecret, code, now)).toBeNull()
})

test('a secret has 160 random bits in base32, and its URI names issuer and account', () => {
  const [secret, other] = [newTotpSecret(), newTotpSecret()]
  expect(secret).toMatch(/^[A-Z2-7]{32}$/)
  expect(secret).not.toBe(other)
  expect(totpUri(secret, { issuer: 'Berth berth.example.test', account: 'ann@example.test' })).toBe(
    `otpauth://totp/Berth%20berth.example.test:ann%40example.test?secret=${secret}&issuer=Berth%20berth.example.test&algorithm=SHA1&digits=6&period=30`,
  )
})
