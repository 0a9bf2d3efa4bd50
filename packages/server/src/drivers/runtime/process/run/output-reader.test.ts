import { appendFileSync, mkdtempSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { InstanceRecord, InstanceRecords } from '../processes/instance-record.ts'
import { readOutput } from './output-reader.ts'

const megabyte = 1024 * 1024

describe('the output of a program that writes faster than it can be read', () => {
  let folder: string
  let file: string
  const record = { cutOff: { stdout: 0, stderr: 0 } } as InstanceRecord
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

  test('does not fill the disk: the rest is left out, and a line says how much', async () => {
    writeFileSync(file, `${'x'.repeat(1023)}\n`.repeat(64 * 1024))
    expect(await wholeOf(read())).toEqual([expect.stringMatching(/^\[64 MB of output dropped/)])
    expect(statSync(file).size).toBe(0)
  })

  test('nor does a program that makes the file look larger than the disk', async () => {
    writeFileSync(file, '')
    truncateSync(file, 1024 * 1024 * megabyte)
    expect(await wholeOf(read())).toEqual([expect.stringMatching(/^\[1048576 MB of output dropped/)])
    expect(statSync(file).size).toBe(0)
  })

  test('what comes after it is read, also after the program itself emptied the file', async () => {
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

  test('up to that, every line is kept', async () => {
    writeFileSync(file, `${'x'.repeat(1023)}\n`.repeat(8 * 1024))
    expect(await wholeOf(read())).toHaveLength(8 * 1024)
  })
})
