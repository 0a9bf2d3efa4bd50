import { randomBytes } from 'node:crypto'
import type { Answer, Call } from './web-app.ts'

interface DeviceLogin {
  userCode: string
  state: 'pending' | 'denied' | { token: string }
}

/**
 * The device login of RFC 8628, which the emulator lacks: instead of a user who types the code, the test calls `approve` or `deny`.
 */
export class DeviceLogins {
  readonly #logins = new Map<string, DeviceLogin>()
  readonly #url: string
  /** The polling interval that clients are given. */
  intervalSeconds = 1
  /** The next poll is told to slow down. */
  slowDown = false

  constructor(url: string) {
    this.#url = url
  }

  start(): Answer {
    const [deviceCode, userCode] = [randomBytes(20).toString('hex'), randomBytes(4).toString('hex').toUpperCase()]
    this.#logins.set(deviceCode, { userCode, state: 'pending' })
    const json = { device_code: deviceCode, user_code: userCode, verification_uri: `${this.#url}/login/device` }
    return { json: { ...json, expires_in: 900, interval: this.intervalSeconds } }
  }

  /** Undefined: not a poll of a device. */
  poll(call: Call): Answer | undefined {
    const form = new URLSearchParams(call.body.toString())
    if (form.get('grant_type') !== 'urn:ietf:params:oauth:grant-type:device_code') return undefined
    const login = this.#logins.get(form.get('device_code') ?? '')
    if (!login) return { json: { error: 'expired_token', error_description: 'The code has expired' } }
    if (this.slowDown) {
      this.slowDown = false
      return { json: { error: 'slow_down', interval: this.intervalSeconds + 5 } }
    }
    if (login.state === 'pending') return { json: { error: 'authorization_pending' } }
    if (login.state === 'denied') return { json: { error: 'access_denied' } }
    return { json: { access_token: login.state.token, token_type: 'bearer', scope: 'repo' } }
  }

  /** User codes that wait for `approve` or `deny`. */
  waiting(): string[] {
    return [...this.#logins.values()].filter(({ state }) => state === 'pending').map(({ userCode }) => userCode)
  }

  approve(userCode: string, token: string): void {
    this.#of(userCode).state = { token }
  }

  deny(userCode: string): void {
    this.#of(userCode).state = 'denied'
  }

  #of(userCode: string): DeviceLogin {
    const found = [...this.#logins.values()].find((login) => login.userCode === userCode)
    if (!found) throw new Error(`unknown user code ${userCode}`)
    return found
  }
}
