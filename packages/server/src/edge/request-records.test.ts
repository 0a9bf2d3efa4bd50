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
  tail: recordTail('dep_1', null),
})
const taken = (records: RequestRecords, count = 1_000) => {
  const batch = records.take(count)
  return batch && { records: JSON.parse(batch.json), dropped: batch.dropped, count: batch.count }
}

describe('request records', () => {
  test('have the fields of the contract', () => {
    const records = new RequestRecords()
    records.add(fields('/a?b="c"\\', 'x"y\\z\u00e9'))
    expect(taken(records)?.records).toEqual([
      {
        id: 'a1',
        time: '2030-01-02T03:04:05.007Z',
        ip: '192.0.2.1',
        method: 'GET',
        host: 'app.example',
        path: '/a?b="c"\\',
        status: 200,
        durationMs: 1.23,
        bytesIn: 1,
        bytesOut: 2,
        userAgent: 'x"y\\z\u00e9',
        deploymentId: 'dep_1',
        projectId: null,
      },
    ])
  })

  test('cut the path at 2 KiB and the user agent', () => {
    const records = new RequestRecords()
    records.add(fields(`/${'x'.repeat(5_000)}`, 'y'.repeat(5_000)))
    const [record] = taken(records)!.records
    expect(record.path).toHaveLength(2_048)
    expect(record.userAgent).toHaveLength(512)
  })

  test('come out oldest first, in batches, once', () => {
    const records = new RequestRecords()
    for (let at = 0; at < 5; at += 1) records.add(fields(`/${at}`))
    expect(taken(records, 2)?.records.map((record: { path: string }) => record.path)).toEqual(['/0', '/1'])
    records.add(fields('/5'))
    expect(taken(records)?.records.map((record: { path: string }) => record.path)).toEqual(['/2', '/3', '/4', '/5'])
    expect(taken(records)).toBeUndefined()
  })

  test('past the bound drop the oldest and say how many', () => {
    const records = new RequestRecords(10_000)
    for (let at = 0; at < 5_000; at += 1) records.add(fields(`/${at}`))
    const batch = taken(records)!
    expect(batch.records.at(-1).path).toBe('/4999')
    expect(batch.dropped + batch.count).toBe(5_000)
    expect(batch.count).toBeLessThan(60)
    expect(taken(records)).toBeUndefined()
  })
})
