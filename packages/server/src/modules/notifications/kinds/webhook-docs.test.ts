import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startReceiver } from '../../../drivers/web-request/test-receiver.ts'
import { exampleMessage, testDrivers, unaborted } from './test-delivery.ts'
import { webhook } from './webhook.ts'

type Verify = (secret: string, header: string, rawBody: Buffer | string, nowSeconds?: number) => boolean

describe('the Node example of docs/webhooks.md', () => {
  let folder: string
  let isFromBerth: Verify
  let genuine: { body: string; header: string }
  const t = 1_767_225_600

  beforeAll(async () => {
    const page = await readFile(new URL('../../../../../../docs/webhooks.md', import.meta.url), 'utf8')
    const [, example = ''] = /```js\n([\s\S]*?)```/.exec(page) ?? []
    folder = await mkdtemp(join(tmpdir(), 'berth-docs-'))
    await writeFile(join(folder, 'example.mjs'), example)
    ;({ isFromBerth } = await import(/* @vite-ignore */ pathToFileURL(join(folder, 'example.mjs')).href))
    await using receiver = await startReceiver()
    const drivers = testDrivers({ now: () => new Date(t * 1000) })
    await webhook.deliver(exampleMessage({ text: 'Grüße 🚢' }), { url: receiver.url }, { secret: 'shh' }, drivers, unaborted)
    const { body, headers } = receiver.received[0]!
    genuine = { body, header: String(headers['berth-signature']) }
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  test('accepts requests of this instance', () => {
    expect(isFromBerth('shh', genuine.header, Buffer.from(genuine.body), t + 5)).toBe(true)
    expect(isFromBerth('shh', `v1=00,${genuine.header},v2=x`, genuine.body, t)).toBe(true)
  })

  test('refuses another secret, a changed body, a changed time, an old request and a missing signature', () => {
    const { body, header } = genuine
    const refused = [
      isFromBerth('other', header, body, t),
      isFromBerth('shh', header, `${body} `, t),
      isFromBerth('shh', header.replace(`t=${t}`, `t=${t + 1}`), body, t),
      isFromBerth('shh', header, body, t + 301),
      isFromBerth('shh', header, body, t - 301),
      isFromBerth('shh', '', body, t),
      isFromBerth('shh', `t=${t},v1=`, body, t),
      isFromBerth('shh', `t=${t}`, body, t),
    ]
    expect(refused).toEqual(refused.map(() => false))
  })
})
