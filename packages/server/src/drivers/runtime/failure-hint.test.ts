import { expect, test } from 'vitest'
import { failureHint } from './failure-hint.ts'

test.each([
  'npm error errno ENOTFOUND request to https://github.com/a.tgz failed, reason: getaddrinfo ENOTFOUND github.com',
  'Error: getaddrinfo EAI_AGAIN github.com',
  "fatal: unable to access 'https://github.com/a/b/': Could not resolve host: github.com",
  "urllib3 NameResolutionError: Failed to resolve 'github.com' ([Errno -3] Temporary failure in name resolution)",
])('a host without an address is named: %s', (line) =>
  expect(failureHint(line)).toContain('github.com could not be found in DNS'),
)

test('a lockfile that does not match is named; other lines are no reason', () => {
  expect(failureHint('error: lockfile had changes, but lockfile is frozen')).toContain('the lockfile does not match')
  expect(failureHint('npm warn deprecated getaddrinfo')).toBeNull()
})
