import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fastify from 'fastify'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type TempFolder, tempFolder } from '../../../../tests/kit/temp-folder.ts'
import { serveDashboard } from './dashboard.ts'

const app = fastify()
let folder: TempFolder

beforeAll(async () => {
  folder = await tempFolder('dashboard')
  await mkdir(join(folder.path, 'assets'))
  await mkdir(join(folder.path, '.vite'))
  const frame = '<!--frame--><div class="frame"></div><!--/frame-->'
  await writeFile(join(folder.path, 'index.html'), `<title>the page</title><style nonce="berth-style-nonce"></style>${frame}`)
  await writeFile(join(folder.path, 'berth.svg'), '<svg/>')
  await writeFile(join(folder.path, 'assets', 'page-CRn5Iivi.js'), 'export default 42')
  await writeFile(join(folder.path, '.vite', 'manifest.json'), '{}')
  await serveDashboard(app, folder.path, { upload: null, form: 'https://github.com' })
})

afterAll(async () => {
  await app.close()
  await folder.remove()
})

const asset = '/assets/page-CRn5Iivi.js'

test('a file is sent with its type; one with a content hash in its name is cached for good', async () => {
  const script = await app.inject(asset)
  expect(script.body).toBe('export default 42')
  expect(script.headers).toMatchObject({
    'content-type': 'application/javascript; charset=utf-8',
    'cache-control': 'public, max-age=31536000, immutable',
    'x-content-type-options': 'nosniff',
  })
  const picture = await app.inject('/berth.svg?v=1')
  expect(picture.body).toBe('<svg/>')
  expect(picture.headers).toMatchObject({
    'content-type': 'image/svg+xml',
    'cache-control': 'no-cache',
    'x-content-type-options': 'nosniff',
  })
})

test('a file is not sent again to a client that has it, and HEAD and range requests work', async () => {
  const { headers } = await app.inject(asset)
  expect(await app.inject({ url: asset, headers: { 'if-none-match': String(headers.etag) } })).toMatchObject({
    statusCode: 304,
    body: '',
  })
  const head = await app.inject({ url: asset, method: 'HEAD' })
  expect(head).toMatchObject({ statusCode: 200, body: '' })
  expect(head.headers['content-length']).toBe('17')
  expect(await app.inject({ url: asset, headers: { range: 'bytes=0-5' } })).toMatchObject({ statusCode: 206, body: 'export' })
})

test('every path of the dashboard gets the page, each with a new nonce', async () => {
  const addresses = [
    '/',
    '/index.html',
    '/projects/prj_1',
    '/assets/gone.js',
    '/.vite/manifest.json',
    '/assets/../.vite/manifest.json',
  ]
  const pages = await Promise.all(addresses.map((url) => app.inject(url)))
  for (const page of pages) {
    expect(page.body).toContain('<title>the page</title>')
    expect(page.headers['cache-control']).toBe('no-store')
    const [, nonce] = /'nonce-([\w-]+)'/.exec(String(page.headers['content-security-policy']))!
    expect(page.body).toContain(`nonce="${nonce}"`)
  }
  expect(new Set(pages.map(({ body }) => body)).size).toBe(addresses.length)
})

test('the frame is shown while a page that has one loads, and not before sign-in', async () => {
  const hasFrame = async (url: string) => (await app.inject(url)).body.includes('class="frame"')
  for (const url of ['/', '/projects/prj_1', '/setups']) expect(await hasFrame(url)).toBe(true)
  for (const url of ['/sign-in', '/setup?code=1', '/sign-up', '/invitations/abc']) expect(await hasFrame(url)).toBe(false)
})

test('an unknown API address does not get the page', async () => {
  for (const url of ['/api', '/api/nothing']) expect((await app.inject(url)).statusCode).toBe(404)
})
