import { expect, test } from 'vitest'
import { sendArchive } from './send-archive.ts'

const abort = new AbortController().signal
const failure = (statusCode: number, message: string) => Object.assign(new Error(message), { statusCode, json: { message } })
const lost = failure(500, 'Error processing tar file(exit status 1): Error after fallback to chroot: no such file or directory')

/** A container whose engine answers with these failures, then accepts; returns the archives that it received. */
function containerFailing(...failures: Error[]) {
  const received: unknown[] = []
  const putArchive = async (archive: unknown) => {
    received.push(archive)
    const failing = failures.shift()
    if (failing) throw failing
  }
  return { received, container: { putArchive } as unknown as Parameters<typeof sendArchive>[0] }
}

const opening = () => {
  let count = 0
  return () => `archive ${++count}`
}

test('an archive is opened and sent again when Docker lost the file system of the container', async () => {
  const { container, received } = containerFailing(lost, lost)
  await sendArchive(container, '/', opening(), { abort })
  expect(received).toEqual(['archive 1', 'archive 2', 'archive 3'])
})

test('a file system that stays lost, and every other failure, is thrown', async () => {
  const always = containerFailing(lost, lost, lost, lost)
  await expect(sendArchive(always.container, '/', opening(), { abort })).rejects.toThrow('chroot')
  expect(always.received).toHaveLength(3)
  for (const other of [failure(500, 'no space left on device'), failure(404, 'chroot: no such file or directory')]) {
    const once = containerFailing(other)
    await expect(sendArchive(once.container, '/', opening(), { abort })).rejects.toBe(other)
    expect(once.received).toHaveLength(1)
  }
})
