import { appendFileSync, mkdtempSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { InstanceRecord, InstanceRecords } from '../processes/instance-record.ts'
import { OutputFile } from './output-file.ts'
import { readOutput } from './output-reader.ts'

const megabyte = 1024 * 1024

describe('output written faster than it can be read', () => {
  let folder: string
  let file: string
  const record = { instanceId: 'one', cutOff: { stdout: 0, stderr: 0 } } as InstanceRecord
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'berth-output-'))
    file = join(folder, 'stdout')
    record.cutOff = { stdout: 0, stderr: 0 }
  })
  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  const records = { outputFile: (_: string, stream: string) => join(folder, stream), saveEventually: () => undefined }
  const read = (abort = new AbortController().signal, hasEnded = () => true) =>
    readOutput('one', null, { records: records as unknown as InstanceRecords, recordOf: () => record, hasEnded }, abort)
  const wholeOf = async (lines: AsyncIterable<{ message: string }>) => {
    const found: string[] = []
    for await (const { message } of lines) found.push(message)
    return found
  }

  test('does not fill the disk: the rest is dropped, and a line says how much', async () => {
    writeFileSync(file, `${'x'.repeat(1023)}\n`.repeat(64 * 1024))
    expect(await wholeOf(read())).toEqual([expect.stringMatching(/^\[64 MB of output dropped/)])
    expect(statSync(file).size).toBe(0)
  })

  test('is dropped as well if the file only looks larger than the disk', async () => {
    writeFileSync(file, '')
    truncateSync(file, 1024 * 1024 * megabyte)
    expect(await wholeOf(read())).toEqual([expect.stringMatching(/^\[1048576 MB of output dropped/)])
    expect(statSync(file).size).toBe(0)
  })

  test('continues to be read later, also after the program truncated the file', async () => {
    writeFileSync(file, `${'x'.repeat(1023)}\n`.repeat(32 * 1024))
    const abort = new AbortController()
    const lines = read(abort.signal, () => false)
    expect((await lines.next()).value?.message).toMatch(/dropped/)
    appendFileSync(file, `next\n${'y'.repeat(100)}\n`)
    expect((await lines.next()).value?.message).toBe('next')
    await lines.next()
    truncateSync(file, 0)
    appendFileSync(file, 'last\n')
    expect((await lines.next()).value?.message).toBe('last')
    abort.abort()
    await lines.return(undefined)
  })

  test('is complete below the limit', async () => {
    writeFileSync(file, `${'x'.repeat(1023)}\n`.repeat(8 * 1024))
    expect(await wholeOf(read())).toHaveLength(8 * 1024)
  })

  test('is read in order and in few reads for many small writes', async () => {
    writeFileSync(file, '')
    const reads = vi.spyOn(OutputFile.prototype, 'readNext')
    const abort = new AbortController()
    const lines = read(abort.signal, () => false)
    const found: string[] = []
    const reading = (async () => {
      for await (const { message } of lines) if (found.push(message) === 200) abort.abort()
    })()
    for (let line = 0; line < 200; line++) {
      appendFileSync(file, `line ${line}\n`)
      await pause(2)
    }
    await reading
    expect(found).toEqual(Array.from({ length: 200 }, (_, at) => `line ${at}`))
    // Two files per read.
    expect(reads.mock.calls.length).toBeLessThan(200)
    reads.mockRestore()
  })

  test('is read again after a pause of the program', async () => {
    writeFileSync(file, '')
    const abort = new AbortController()
    const lines = read(abort.signal, () => false)
    for (const burst of [1, 2, 3]) {
      const expected = Array.from({ length: 20 }, (_, at) => `${burst}.${at}`)
      const writing = (async () => {
        for (const line of expected) {
          appendFileSync(file, `${line}\n`)
          await pause(5)
        }
      })()
      const found: string[] = []
      while (found.length < 20) found.push((await lines.next()).value?.message ?? '')
      expect(found).toEqual(expected)
      await writing
      await pause(300)
    }
    abort.abort()
    await lines.return(undefined)
  })
})
