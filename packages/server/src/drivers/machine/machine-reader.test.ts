import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { expect, test } from 'vitest'
import { createWebRequest } from '../web-request/web-request.ts'
import { clockOffset } from './clock-offset.ts'
import { createMachineReader } from './machine-reader.ts'

test('the disk, memory and load of this machine', async () => {
  const { disk, memory, load } = await createMachineReader({ dataDir: tmpdir(), clockOffset: async () => null }).read()
  expect(disk.freeBytes).toBeGreaterThan(0)
  expect(disk.freeBytes).toBeLessThanOrEqual(disk.totalBytes)
  expect(disk.freeInodes).toBeLessThanOrEqual(disk.totalInodes)
  expect(memory.availableBytes).toBeGreaterThan(0)
  expect(memory.availableBytes).toBeLessThan(memory.totalBytes)
  expect(load.cores).toBeGreaterThan(0)
})

test('the clock is compared at most once an hour', async () => {
  let now = 0
  let comparisons = 0
  const reader = createMachineReader({ dataDir: tmpdir(), clockOffset: async () => ++comparisons, now: () => now })
  const offsets = []
  for (now of [0, 3_599_999, 3_600_000, 7_300_000]) offsets.push((await reader.read()).clock.offsetSeconds)
  expect(offsets).toEqual([1, 1, 2, 3])
})

test('the offset of the clock is that of the Date header; a server without one, or no server, compares nothing', async () => {
  const date = Date.parse('2030-01-01T00:00:00Z')
  const server = createServer((request, response) => {
    response.sendDate = false
    if (request.url === '/date') response.setHeader('date', new Date(date).toUTCString())
    response.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const web = createWebRequest({ allowPrivate: true })
  try {
    for (const seconds of [0, 90, -90])
      expect(await clockOffset(`${url}/date`, web, () => date + 500 + seconds * 1000)).toBe(seconds)
    expect(await clockOffset(url, web)).toBeNull()
  } finally {
    await new Promise((resolve) => server.close(resolve))
  }
  expect(await clockOffset(url, web)).toBeNull()
})
