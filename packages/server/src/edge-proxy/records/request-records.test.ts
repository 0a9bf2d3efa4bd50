import { describe, expect, test } from 'vitest'
import { type RecordFields, RequestRecords, recordTail } from './request-records.ts'

const fields = (path = '/', userAgent = 'curl'): RecordFields => ({
  id: 'a1',
  timeMs: Date.parse('2030-01-02T03:04:05.007Z'),
  ip: '192.0.2.1',
  method: 'GET',
  host: 'app.example',
  path,
  status: 200,
  durationMs: 1.23456,
  bytesIn: 1,
  bytesOut: 2,
  userAgent,
  tail: recordTail({ environment: 'production', deploymentId: 'dep_1' }),
})
const taken = (records: RequestRecords) => {
  const batch = records.take()
  return batch && { records: JSON.parse(`[${batch.json}]`), dropped: batch.dropped, count: batch.count }
}
const pathsOf = (batch: ReturnType<typeof taken>) => batch?.records.map((record: { path: string }) => record.path)

describe('request records', () => {
  test('have the fields of the contract', () => {
    const records = new RequestRecords()
    records.add(fields('/a"b"\\', 'x"y\\z\u00e9'))
    expect(taken(records)?.records).toEqual([
      {
        id: 'a1',
        time: '2030-01-02T03:04:05.007Z',
        ip: '192.0.2.1',
        method: 'GET',
        host: 'app.example',
        path: '/a"b"\\',
        status: 200,
        durationMs: 1.23,
        bytesIn: 1,
        bytesOut: 2,
        userAgent: 'x"y\\z\u00e9',
        environment: 'production',
        service: null,
        deploymentId: 'dep_1',
        projectId: null,
      },
    ])
  })

  test.each([
    ['/reset?token=secret', '/reset'],
    ['/?a=1&b=2', '/'],
    ['/plain', '/plain'],
    [`/${'x'.repeat(5_000)}?token=secret`, `/${'x'.repeat(2_047)}`],
  ])('omit the query, which may contain secrets: %s', (target, path) => {
    const records = new RequestRecords()
    records.add(fields(target))
    expect(pathsOf(taken(records))).toEqual([path])
  })

  test('truncate the path to 2 KiB and the user agent', () => {
    const records = new RequestRecords()
    records.add(fields(`/${'x'.repeat(5_000)}`, 'y'.repeat(5_000)))
    const [record] = taken(records)!.records
    expect(record.path).toHaveLength(2_048)
    expect(record.userAgent).toHaveLength(512)
  })

  test('are returned once, oldest first', () => {
    const records = new RequestRecords()
    for (let at = 0; at < 3; at += 1) records.add(fields(`/${at}`))
    expect(pathsOf(taken(records))).toEqual(['/0', '/1', '/2'])
    expect(taken(records)).toBeUndefined()
    records.add(fields('/3'))
    expect(pathsOf(taken(records))).toEqual(['/3'])
    expect(taken(records)).toBeUndefined()
  })

  test('are all returned, in as many batches as needed', () => {
    const records = new RequestRecords()
    const paths = Array.from({ length: 2_000 }, (_, at) => `/${at}/\u00e9${'x'.repeat(at % 300)}`)
    for (const path of paths) records.add(fields(path))
    const seen: string[] = []
    for (let batch = taken(records); batch; batch = taken(records)) {
      seen.push(...pathsOf(batch))
      expect(batch.count).toBe(batch.records.length)
    }
    expect(seen).toEqual(paths)
  })

  test('over the limit drop the oldest and report how many', () => {
    const records = new RequestRecords(200_000)
    for (let at = 0; at < 5_000; at += 1) records.add(fields(`/${at}`))
    let [count, dropped, last] = [0, 0, '']
    for (let batch = taken(records); batch; batch = taken(records)) {
      count += batch.count
      dropped += batch.dropped
      last = pathsOf(batch).at(-1)
    }
    expect(last).toBe('/4999')
    expect(count + dropped).toBe(5_000)
    expect(count).toBeLessThan(1_000)
  })
})
