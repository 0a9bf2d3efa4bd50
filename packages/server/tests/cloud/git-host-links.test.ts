import { afterAll, beforeAll, expect, test } from 'vitest'
import { call } from '../kit/call.ts'
import { startTwoSides, type TwoSides } from '../kit/two-sides.ts'

let sides: TwoSides
beforeAll(async () => {
  sides = await startTwoSides({}, { BERTH_GITHUB_CLIENT_ID: 'an-id', BERTH_GITHUB_CLIENT_SECRET: 'a-secret' })
})
afterAll(() => sides.stop())

const request = (at: 'POST /gitprovider/connect' | 'GET /gitprovider/status') => call(sides.here, sides.people.owner.token, at)

test('a linked instance gets the install link from the cloud; if the cloud is unreachable: 503 cloud_unreachable, and status says so', async () => {
  await sides.link()
  const { status, body } = await request('POST /gitprovider/connect')
  expect({ status, body }).toMatchObject({ status: 200, body: { connected: false, flow: 'redirect' } })
  expect(new URL(body.url).searchParams.get('client_id')).toBe('an-id')
  expect((await request('GET /gitprovider/status')).body).toMatchObject({ state: 'disconnected', cloudUnreachable: false })
  await sides.cloud.app.close()
  const away = await request('POST /gitprovider/connect')
  expect({ status: away.status, code: away.body.code }).toEqual({ status: 503, code: 'cloud_unreachable' })
  expect((await request('GET /gitprovider/status')).body).toMatchObject({ state: 'disconnected', cloudUnreachable: true })
})
