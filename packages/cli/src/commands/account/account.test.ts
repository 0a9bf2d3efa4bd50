import { describe, expect, test } from 'vitest'
import { type Answer, cliFixture, type RecordedRequest } from '../../cli-fixture.ts'

async function run(words: string[], answer: Answer) {
  await using cli = await cliFixture(() => answer)
  const result = await cli.berth(...words)
  return { ...result, asked: cli.requests.map(({ method, path, body }: RecordedRequest) => ({ method, path, body })) }
}

describe('berth account', () => {
  test('berth account passkeys lists the passkeys, and --remove removes one', async () => {
    const times = { createdAt: '2026-11-18T09:12:00.000Z', lastUsedAt: null }
    const passkey = { id: 'psk_a', name: 'Laptop', hostname: 'berth.example.com', isSynced: true, ...times }
    const listed = await run(['account', 'passkeys'], { body: { data: [passkey], nextCursor: null } })
    expect(listed.stdout).toMatch(/^ID .*\npsk_a +Laptop +berth\.example\.com +2026-11-18 09:12 +-\n$/)
    const none = await run(['account', 'passkeys'], { body: { data: [], nextCursor: null } })
    expect(none).toMatchObject({ code: 0, stdout: 'No passkeys. Add one in the dashboard, on the page Your account.\n' })
    const removed = await run(['account', 'passkeys', '--remove', 'psk_a'], { status: 204 })
    expect(removed).toMatchObject({ stdout: 'removed psk_a\n', asked: [{ method: 'DELETE', path: '/auth/passkeys/psk_a' }] })
  })

  test('berth account sessions lists the sessions, and --end ends one', async () => {
    const session = {
      id: 'ses_a',
      current: false,
      ip: '203.0.113.7',
      userAgent: 'Firefox',
      expiresAt: '2026-12-01T00:00:00.000Z',
    }
    const times = { createdAt: '2026-11-01T10:00:00.000Z', lastUsedAt: null }
    const listed = await run(['account', 'sessions'], { body: { data: [{ ...session, ...times }], nextCursor: null } })
    expect(listed.stdout).toMatch(/^ID +ADDRESS +SIGNED IN +LAST USED +PROGRAM\nses_a +203\.0\.113\.7 .* Firefox\n$/)
    expect(listed.stderr).toContain('berth token list')
    const none = await run(['account', 'sessions'], { body: { data: [], nextCursor: null } })
    expect(none).toMatchObject({ code: 0, stdout: 'No browser sessions.\n', stderr: expect.stringContaining('berth token list') })
    const ended = await run(['account', 'sessions', '--end', 'ses_a'], { status: 204 })
    expect(ended).toMatchObject({ stdout: 'ended ses_a\n', asked: [{ method: 'DELETE', path: '/auth/sessions/ses_a' }] })
  })

  test('totp shows the state; enable without a terminal prints the key and the next command', async () => {
    const on = { data: { enabled: true, enabledAt: 'x', recoveryCodesLeft: 7 } }
    expect((await run(['account', 'totp'], { body: on })).stdout).toBe('on, 7 recovery codes left\n')
    const begun = await run(['account', 'totp', 'enable'], { body: { data: { secret: 'ABC', uri: 'otpauth://totp/x' } } })
    expect(begun).toMatchObject({ code: 0, stdout: 'ABC\notpauth://totp/x\n' })
    expect(begun.stderr).toContain('berth account totp confirm <code>')
    const confirmed = await run(['account', 'totp', 'confirm', '123456'], { body: { data: { recoveryCodes: ['a', 'b'] } } })
    expect(confirmed).toMatchObject({ stdout: 'a\nb\n', asked: [{ path: '/auth/totp/confirm', body: { code: '123456' } }] })
  })

  test('a wrong code is reported as such, not as a refused token', async () => {
    const body = { error: 'Wrong code', code: 'unauthorized', field: 'code' }
    const { code, stderr, asked } = await run(['account', 'totp', 'disable', '--code', '000000'], { status: 401, body })
    expect([code, asked[0]?.method, asked[0]?.body]).toEqual([3, 'DELETE', { code: '000000' }])
    expect(stderr).toContain('Wrong code')
    expect(stderr).not.toContain('refused the token')
  })
})
