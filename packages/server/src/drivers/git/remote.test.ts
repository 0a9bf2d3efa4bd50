import { describe, expect, test } from 'vitest'
import { isBranchName, isCommitId, sameCommit } from './commit-id.ts'
import { RemoteRefused } from './git-errors.ts'
import { parseRemote } from './remote.ts'

describe('accepts', () => {
  test.each([
    ['https://github.com/owner/repo', { scheme: 'https', host: 'github.com', port: 443, shown: 'github.com/owner/repo' }],
    ['https://GitHub.com/owner/repo.git', { url: 'https://github.com/owner/repo.git' }],
    ['https://git.example.com:8443/a%20b/c', { host: 'git.example.com', port: 8443, shown: 'git.example.com:8443/a%20b/c' }],
    ['http://127.0.0.1:3000/r', { scheme: 'http', port: 3000 }],
    ['http://localhost/r', { scheme: 'http', port: 80 }],
    ['http://[::1]:9/r', { scheme: 'http', host: '[::1]', port: 9 }],
    ['http://git.lan/r', { scheme: 'http', host: 'git.lan' }],
    [
      'ssh://git@github.com/owner/repo.git',
      { scheme: 'ssh', host: 'github.com', port: 22, url: 'ssh://git@github.com/owner/repo.git' },
    ],
    ['ssh://Host.example:2222/~me/repo', { host: 'host.example', port: 2222, shown: 'host.example:2222/~me/repo' }],
    ['ssh://git@[::1]:2222/r', { host: '::1', url: 'ssh://git@[::1]:2222/r' }],
    [
      'git@github.com:owner/repo.git',
      { scheme: 'ssh', port: 22, url: 'git@github.com:owner/repo.git', shown: 'github.com/owner/repo.git' },
    ],
    ['github.com:owner/repo.git', { scheme: 'ssh', url: 'github.com:owner/repo.git' }],
    ['git@host:/absolute/path', { host: 'host', shown: 'host/absolute/path' }],
  ])('%s', (url, expected) => {
    expect(parseRemote(url, ['git.lan'])).toMatchObject(expected)
  })
})

describe('refuses', () => {
  test.each([
    ['ext::sh -c id', 'a space'],
    ['ext::id', 'transport program'],
    ['file:///etc', 'file'],
    ['/srv/repo', 'not a git repository URL'],
    ['../repo', 'not a git repository URL'],
    ['C:/repo', 'not a git repository URL'],
    ['-oProxyCommand=id', 'dash'],
    ['--upload-pack=id', 'dash'],
    ['git://github.com/a/b', 'git'],
    ['ftp://github.com/a/b', 'ftp'],
    ['http://github.com/a/b', 'https'],
    ['http://127.0.0.1.example.com/a', 'https'],
    ['https://token@github.com/a/b', 'user name'],
    ['https://user:token@github.com/a/b', 'user name'],
    ['https://@github.com/a/b', 'user name'],
    ['https://github.com', 'no repository path'],
    ['https://github.com/', 'no repository path'],
    ['https://github.com/a?b', '?'],
    ['https://github.com/a#b', '#'],
    ['https://', 'not a valid URL'],
    ['https://github.com\\@evil.example/a', 'backslash'],
    ['https://github.com/a\nb', 'invisible'],
    ['https://github.com/a\u200bb', 'invisible'],
    ["https://github.com/a'b", 'quote'],
    ['ssh://user:password@host/r', 'password'],
    ['ssh://-oProxyCommand=id/r', 'not a valid URL'],
    ['ssh://-x@host/r', 'not a valid URL'],
    ['ssh://host', 'no repository path'],
    ['ssh://host/', 'no repository path'],
    ['ssh://host:99999/r', 'port'],
    ['-x@host:path', 'dash'],
    ['git@-host:path', 'not a git repository URL'],
    ['git@host:-path', 'dash'],
    ['git@host.example', 'not a git repository URL'],
    [`https://github.com/${'a'.repeat(3000)}`, 'too long'],
    ['', 'not a git repository URL'],
  ])('%j', (url, reason) => {
    expect(() => parseRemote(url, ['git.lan'])).toThrow(RemoteRefused)
    expect(() => parseRemote(url, ['git.lan'])).toThrow(reason)
  })
})

test('a short and a long SHA of one commit are equal', () => {
  const long = 'aBcdef0123456789aBcdef0123456789aBcdef01'
  expect(sameCommit(long, long.toLowerCase())).toBe(true)
  expect(sameCommit(long, 'abcdef0')).toBe(true)
  expect(sameCommit('ABCDEF0123', long)).toBe(true)
  expect(sameCommit(long, 'abcdef1')).toBe(false)
  expect(sameCommit(long, 'abcdef')).toBe(false)
  expect(sameCommit('', '')).toBe(false)
  expect(sameCommit(null, null)).toBe(false)
  expect(sameCommit(long, 'main')).toBe(false)
  expect(isCommitId('HEAD~1')).toBe(false)
})

test('a branch name is valid if git accepts it', () => {
  for (const name of ['main', 'feature/a-b_c.d', 'ümlaut', 'v1.0', 'a@b']) expect(isBranchName(name)).toBe(true)
  const bad = [
    '',
    '-x',
    '--upload-pack=x',
    'a..b',
    'a b',
    'a:b',
    'a^',
    'a~1',
    'a?',
    'a*',
    'a[',
    'a\\b',
    '/a',
    'a/',
    'a//b',
    '.a',
    'a/.b',
    'a.lock',
    'a.',
    '@',
    'a@{1}',
    'a\n',
  ]
  for (const name of bad) expect([name, isBranchName(name)]).toEqual([name, false])
})
