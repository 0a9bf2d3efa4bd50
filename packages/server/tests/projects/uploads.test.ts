// gate: also on PostgreSQL, since uploads of one session take a lock
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hostileCorpus, type TarEntry, tarball, tarEnd, tarEntry } from '../../src/drivers/tarball/hostile-corpus.ts'
import { sweepUploads } from '../../src/modules/projects/uploads/upload-sweep.ts'
import { receiveUpload } from '../../src/modules/projects/uploads/uploads.ts'
import { beforeSql } from '../kit/before-sql.ts'
import { call } from '../kit/call.ts'
import { startInstance, type TestInstance } from '../kit/instance.ts'
import { makePeople, type People } from '../kit/people.ts'
import { callsOn, makeProject } from '../kit/projects.ts'

let base: string
let instance: TestInstance
let people: People
beforeAll(async () => {
  base = mkdtempSync(join(tmpdir(), 'berth-uploads-'))
  instance = await startInstance({ BERTH_DATA_DIR: base, BERTH_PUBLIC_URL: 'https://berth.example.test' })
  people = await makePeople(instance)
})
afterAll(async () => {
  await instance.stop()
  rmSync(base, { recursive: true, force: true })
})

const manifest: TarEntry = { name: 'package.json', content: JSON.stringify({ name: 'shop', dependencies: { express: '5' } }) }
const good = tarball(manifest, { name: 'index.js', content: 'app.listen(3000)' })

const open = async (hints: object = {}, token = people.member.token) =>
  (await call(instance, token, 'POST /projects/folder/session', { body: hints })).body.data as {
    sessionId: string
    expiresAt: string
    upload: object
  }
const files = () => (existsSync(join(base, 'uploads')) ? readdirSync(join(base, 'uploads')) : [])
const scan = (sessionId: string, token = people.member.token) =>
  call(instance, token, 'POST /projects/folder/scan/:sessionId', { params: { sessionId } })

async function send(sessionId: string, payload: Buffer, token = people.member.token, on: Pick<TestInstance, 'app'> = instance) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/gzip' }
  const response = await on.app.inject({ method: 'POST', url: `/api/projects/folder/upload/${sessionId}`, headers, payload })
  return { status: response.statusCode, body: response.json() }
}
const received = async (bytes = good, hints = {}) => {
  const { sessionId } = await open(hints)
  expect((await send(sessionId, bytes)).status).toBe(200)
  return sessionId
}
const expire = (id: string) =>
  instance.database.db.updateTable('uploadSessions').set({ expiresAt: 1 }).where('id', '=', id).execute()
const statusOf = async (id: string) =>
  (await instance.database.db.selectFrom('uploadSessions').select('status').where('id', '=', id).executeTakeFirst())?.status

describe('POST /projects/folder/session', () => {
  test('201: an id, an expiry in an hour, and the URL for the tarball', async () => {
    const { status, body } = await call(instance, people.member.token, 'POST /projects/folder/session')
    expect(status).toBe(201)
    const { sessionId, expiresAt, upload } = body.data
    expect(sessionId).toMatch(/^upl_/)
    expect(Math.abs(Date.parse(expiresAt) - Date.now() - 3_600_000)).toBeLessThan(60_000)
    expect(upload).toEqual({
      url: `https://berth.example.test/api/projects/folder/upload/${sessionId}`,
      method: 'POST',
      headers: { 'content-type': 'application/gzip', 'x-berth-upload-token': expect.any(String) },
    })
  })

  test('403 for a viewer; 400 for hints that cannot be stored', async () => {
    expect((await call(instance, people.viewer.token, 'POST /projects/folder/session')).status).toBe(403)
    const { status, body } = await call(instance, people.member.token, 'POST /projects/folder/session', { body: { name: 'a\0' } })
    expect([status, body.field]).toEqual([400, 'name'])
  })
})

describe('POST /projects/folder/upload/:sessionId', () => {
  test('200: the size and the number of files; the bytes are stored unchanged', async () => {
    const { sessionId } = await open()
    const { status, body } = await send(sessionId, good)
    expect([status, body]).toEqual([200, { data: { sessionId, sizeBytes: good.length, files: 2 } }])
    const path = instance.projects.uploadFile(sessionId)
    expect(path).toBe(join(base, 'uploads', `${sessionId}.tar.gz`))
    expect(readFileSync(path).equals(good)).toBe(true)
  })

  test('409: a session accepts one upload, so that the source of a project cannot change', async () => {
    const id = await received()
    expect((await send(id, tarball({ name: 'other', content: '' }))).status).toBe(409)
    expect(readFileSync(instance.projects.uploadFile(id)).equals(good)).toBe(true)
  })

  test('one of two concurrent uploads is accepted, and its bytes are stored', async () => {
    const { sessionId } = await open()
    const bytes = [good, tarball({ name: 'other', content: 'x'.repeat(5000) })]
    const answers = await Promise.all(bytes.map((payload) => send(sessionId, payload)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409])
    const winner = answers.findIndex(({ status }) => status === 200)
    expect(readFileSync(instance.projects.uploadFile(sessionId)).equals(bytes[winner]!)).toBe(true)
    expect(files().filter((name) => name.includes('incoming'))).toEqual([])
  })

  test('404: a session of another organisation, an expired one, or an unknown one', async () => {
    const { sessionId } = await open()
    const outsider = await makePeople(instance)
    expect((await send(sessionId, good, outsider.owner.token)).status).toBe(404)
    await expire(sessionId)
    expect((await send(sessionId, good)).status).toBe(404)
    expect((await send('upl_none', good)).status).toBe(404)
    expect(existsSync(instance.projects.uploadFile(sessionId))).toBe(false)
  })

  test('415 for another content type', async () => {
    const { sessionId } = await open()
    const answer = await call(instance, people.member.token, 'POST /projects/folder/upload/:sessionId', {
      params: { sessionId },
      body: {},
    })
    expect(answer.status).toBe(415)
  })

  test('a session survives a restart, before and after its upload', async () => {
    const { sessionId } = await open()
    const again = await startInstance({ BERTH_DATA_DIR: base }, { database: instance.database })
    expect((await send(sessionId, good, people.member.token, again)).status).toBe(200)
    await again.app.close()
    expect((await scan(sessionId)).body.data.name).toBe('shop')
  })

  test('after an early response the rest of the body is read, and the connection serves the next request', async () => {
    const sessionId = await received()
    const { hostname, port } = new URL(await listening())
    const socket = connect(Number(port), hostname)
    let answers = ''
    socket.setEncoding('latin1').on('data', (text: string) => {
      answers += text
    })
    const head = (line: string, ...fields: string[]) =>
      [`${line} HTTP/1.1`, 'host: berth', `authorization: Bearer ${people.member.token}`, ...fields, '', ''].join('\r\n')
    const bytes = 30_000_000
    const upload = `POST /api/projects/folder/upload/${sessionId}`
    socket.write(head(upload, 'content-type: application/gzip', `content-length: ${bytes}`))
    socket.write(Buffer.alloc(bytes))
    socket.write(head('GET /api/projects'))
    await expect.poll(() => answers.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 409', 'HTTP/1.1 200'])
    socket.destroy()
  })

  test('a lost connection leaves no file, and the session stays open', async () => {
    const before = files()
    const { sessionId } = await open()
    const sent = request(`${await listening()}/api/projects/folder/upload/${sessionId}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${people.member.token}`,
        'content-type': 'application/gzip',
        'content-length': 1_000_000,
      },
    })
    sent.on('error', () => undefined)
    sent.write(good)
    await expect.poll(() => files().length).toBe(before.length + 1)
    sent.destroy()
    await expect.poll(files).toEqual(before)
    expect(await statusOf(sessionId)).toBe('open')
    expect((await send(sessionId, good)).status).toBe(200)
  })
})

let address: Promise<string> | undefined
const listening = () => {
  address ??= instance.app.listen({ host: '127.0.0.1', port: 0 })
  return address
}

describe('hostile tarballs', () => {
  /**
   * The corpus tests small limits. The limits of the API are larger, so these archives are too; they consist of several gzip
   * members.
   */
  const zeros = gzipSync(Buffer.alloc(64 * 1024 * 1024))
  const large: Record<string, Buffer> = {
    'a bomb': Buffer.concat([1, 2, 3].flatMap((number) => bombPart(`bomb-${number}`)).concat(gzipSync(tarEnd))),
    'too many entries': Buffer.concat([...Array<Buffer>(201).fill(manyEntries()), gzipSync(tarEnd)]),
  }
  function bombPart(name: string): Buffer[] {
    const size = 12 * 64 * 1024 * 1024
    return [gzipSync(tarEntry({ name, size })), ...Array<Buffer>(12).fill(zeros)]
  }
  function manyEntries(): Buffer {
    return gzipSync(Buffer.concat(Array<Buffer>(1000).fill(tarEntry({ name: 'again' }))))
  }
  const corpus = beforeSql(hostileCorpus()).map(({ title, names, bytes }) => ({
    title,
    names: title === 'too many entries' ? 'entries' : names,
    bytes: large[title] ?? bytes,
  }))

  test.each(corpus)('400 names the entry, and no file is left: $title', async ({ bytes, names }) => {
    const before = files()
    const { sessionId } = await open()
    const { status, body } = await send(sessionId, bytes)
    expect([status, body.code, body.field]).toEqual([400, 'validation_failed', 'upload'])
    // Characters that cannot be shown, such as a NUL, are replaced, and long names are truncated.
    if (typeof names === 'string' && names.length < 100) expect(body.error).toContain(names)
    else if (typeof names !== 'string') expect(body.error).toMatch(names)
    expect(files()).toEqual(before)
    expect(await statusOf(sessionId)).toBe('open')
  })
})

describe('POST /projects/folder/scan/:sessionId', () => {
  test('returns the detected values and leaves no unpacked folder', async () => {
    const id = await received()
    const before = files()
    const { status, body } = await scan(id)
    expect([status, body.data.name, body.data.framework]).toEqual([200, 'shop', 'express'])
    expect(files()).toEqual(before)
  })

  test.each(['POST /projects', 'POST /projects/ensure'] as const)(
    'the response is a body of %s without a warning',
    async (at) => {
      const { body } = await scan(await received())
      const made = await call(instance, people.member.token, at, { body: { ...body.data } })
      expect([made.status, made.body.warnings]).toEqual([201, undefined])
      const misspelt = await call(instance, people.member.token, at, { body: { ...body.data, evidance: [] } })
      expect(misspelt.body.warnings).toEqual(['Unknown field ignored: evidance'])
    },
  )

  test('a tarball with a single top folder is scanned in that folder', async () => {
    const id = await received(
      tarball({ name: 'my-site/', type: '5', mode: 0o755 }, { name: 'my-site/index.html', content: '<h1>' }),
    )
    expect((await scan(id)).body.data).toMatchObject({ name: 'my-site', type: 'static' })
  })

  test('hints are used only for values that the files do not give', async () => {
    const hints = { name: 'From a hint', stack: 'rails', packageManager: 'bundler' }
    const undetected = await received(tarball({ name: 'notes.txt', content: 'hello' }), hints)
    expect((await scan(undetected)).body.data).toMatchObject({
      name: 'From a hint',
      framework: 'rails',
      packageManager: 'bundler',
    })
    const detected = await received(good, hints)
    expect((await scan(detected)).body.data).toMatchObject({ name: 'shop', framework: 'express' })
    const nameless = await received(tarball({ name: 'notes.txt', content: 'hello' }))
    expect((await scan(nameless)).body.data.name).toBeNull()
  })

  test('409 before the upload; 404 for another organisation', async () => {
    const { sessionId } = await open()
    expect((await scan(sessionId)).status).toBe(409)
    const id = await received()
    expect((await scan(id, (await makePeople(instance)).owner.token)).status).toBe(404)
  })
})

describe('the lifetime of an upload session', () => {
  const deps = () =>
    ({
      database: instance.database,
      clock: { now: () => new Date() },
      settings: { dataDir: base },
      projectPorts: {},
    }) as unknown as Parameters<typeof sweepUploads>[0]
  const sweep = () => sweepUploads(deps())

  test('a full disk is 507 with that reason; no partial file is kept, and the session accepts the upload afterwards', async () => {
    const { sessionId } = await open()
    const session = await instance.database.db
      .selectFrom('uploadSessions')
      .selectAll()
      .where('id', '=', sessionId)
      .executeTakeFirstOrThrow()
    async function* full() {
      yield good.subarray(0, 20)
      throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
    }
    const failed = receiveUpload(session, full(), deps())
    await expect(failed).rejects.toMatchObject({ code: 'storage_full', status: 507, message: expect.stringContaining('disk') })
    expect(files().filter((name) => name.startsWith(sessionId))).toEqual([])
    expect((await send(sessionId, good)).status).toBe(200)
  })

  test('an upload is kept as long as its project exists', async () => {
    const id = await received()
    const project = await makeProject(instance, people.member.token, { uploadSessionId: id })
    expect(project.source.kind).toBe('upload')
    await sweep()
    expect(existsSync(instance.projects.uploadFile(id))).toBe(true)
    await callsOn(instance, people.owner.token)(project)('DELETE', '')
    await sweep()
    expect([existsSync(instance.projects.uploadFile(id)), await statusOf(id)]).toEqual([false, undefined])
  })

  test('an expired session is removed with its file; a valid session stays', async () => {
    const [old, young] = [await received(), await received()]
    await expire(old)
    await sweep()
    expect([existsSync(instance.projects.uploadFile(old)), await statusOf(old)]).toEqual([false, undefined])
    expect([existsSync(instance.projects.uploadFile(young)), await statusOf(young)]).toEqual([true, 'received'])
  })

  test('files of a killed process are removed after an hour, a file without a session at once', async () => {
    const leftover = (name: string, minutesOld: number) => {
      const path = join(base, 'uploads', name)
      writeFileSync(path, 'left')
      utimesSync(path, new Date(), new Date(Date.now() - minutesOld * 60_000))
      return path
    }
    const [dead, alive] = [leftover('upl_a.0011.incoming.partial', 61), leftover('upl_b.0022.incoming', 1)]
    const orphan = leftover('upl_orphan.tar.gz', 0)
    const scanned = leftover('scan-0033', 61)
    await sweep()
    expect([dead, alive, orphan, scanned].map(existsSync)).toEqual([false, true, false, false])
  })

  test('an hourly job runs the clean-up', async () => {
    await instance.jobs.start()
    const old = await received()
    await expire(old)
    await instance.database.transaction(({ enqueue }) => enqueue({ kind: 'projects.sweep-uploads' }, {}))
    await expect.poll(() => existsSync(instance.projects.uploadFile(old))).toBe(false)
    const rows = await instance.database.db
      .selectFrom('schedules')
      .select('everySeconds')
      .where('key', '=', 'projects.sweep-uploads')
      .execute()
    expect(rows).toEqual([{ everySeconds: 3600 }])
  })

  test('a replaced upload is removed at once, without waiting for the sweep', async () => {
    const [first, second] = [await received(), await received()]
    const project = await makeProject(instance, people.member.token, { uploadSessionId: first })
    await callsOn(instance, people.owner.token)(project)('PATCH', '', { uploadSessionId: second })
    await expect.poll(() => existsSync(instance.projects.uploadFile(first))).toBe(false)
    expect([existsSync(instance.projects.uploadFile(second)), await statusOf(first)]).toEqual([true, undefined])
    await instance.jobs.stop({ graceMs: 1000 })
  })
})
