import { expect, test } from 'vitest'
import { localFailure } from './local-failures.ts'

test.each([
  ['ENOSPC', 'full', 'The disk is full'],
  ['EDQUOT', 'full', 'The quota or file size limit'],
  ['EFBIG', 'full', 'The quota or file size limit'],
  ['EACCES', 'denied', 'Allow the user that Berth runs as'],
  ['EROFS', 'denied', 'mounted read-only'],
  ['ENOENT', 'missing', 'does not exist'],
  ['ELOOP', 'denied', 'A link or a file'],
  ['EIO', 'other', 'EIO'],
])('%s of the file system is a failure %s that names the cause and the operation', (code, reason, message) => {
  const failure = localFailure(Object.assign(new Error(code), { code }), 'writing /backups/x')
  expect(failure).toMatchObject({
    name: 'StoreFailure',
    reason,
    message: expect.stringMatching(new RegExp(`${message}.*writing /backups/x|writing /backups/x.*${message}`, 's')),
  })
})

test('another error is returned unchanged', () => {
  const error = new Error('the dump broke')
  expect(localFailure(error, 'writing /backups/x')).toBe(error)
})
