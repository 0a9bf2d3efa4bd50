import { createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { Secret } from '../../../platform/secrets/secret.ts'
import type { PushDelivery } from '../delivery.ts'
import { isSignedByGitHub, readGitHubDelivery } from './github-deliveries.ts'

const commit = 'a'.repeat(40)
const repository = { id: 7, full_name: 'Acme/Shop' }
const read = (event: string, body: object) =>
  readGitHubDelivery({ 'x-github-event': event, 'x-github-delivery': 'd-1' }, Buffer.from(JSON.stringify(body)))

describe('signature checked over the raw body', () => {
  const secret = new Secret('the hook secret')
  const body = Buffer.from('{"a": 1}')
  const signed = (bytes: Buffer, key = 'the hook secret') => ({
    'x-hub-signature-256': `sha256=${createHmac('sha256', key).update(bytes).digest('hex')}`,
  })
  test('the right one', () => expect(isSignedByGitHub(secret, signed(body), body)).toBe(true))
  test.each([
    ['of another secret', signed(body, 'another')],
    ['of other bytes', signed(Buffer.from('{"a":1}'))],
    ['cut short', { 'x-hub-signature-256': 'sha256=ab' }],
    ['none', {}],
    ['twice', { 'x-hub-signature-256': ['sha256=a', 'sha256=b'] }],
    [
      'SHA-1, which GitHub has given up',
      { 'x-hub-signature': `sha1=${createHmac('sha1', 'the hook secret').update(body).digest('hex')}` },
    ],
  ])('one %s is refused', (_, headers) => expect(isSignedByGitHub(secret, headers, body)).toBe(false))
})

describe('tags, deleted refs and other branches do nothing; push, pull request, installation deleted and ping are handled', () => {
  test('reads a push', () => {
    const head = { message: 'Fix it', author: { name: 'Ann' } }
    expect(read('push', { ref: 'refs/heads/feature/x', after: commit, deleted: false, repository, head_commit: head })).toEqual({
      kind: 'push',
      id: 'd-1',
      repository: { owner: 'Acme', repo: 'Shop' },
      branch: 'feature/x',
      commit,
      message: 'Fix it',
      author: 'Ann',
      defaultBranch: null,
    })
  })
  test('ignores a tag and a deleted branch', () => {
    expect(read('push', { ref: 'refs/tags/v1', after: commit, repository })).toMatchObject({ kind: 'ignored' })
    expect(read('push', { ref: 'refs/heads/x', after: '0'.repeat(40), deleted: true, repository })).toMatchObject({
      kind: 'ignored',
    })
  })
  test('reads a pull request of the repository and of a fork', () => {
    const request = (headRepo: object | null) => ({
      action: 'synchronize',
      repository,
      pull_request: {
        number: 3,
        title: 'Better',
        html_url: 'https://github.com/Acme/Shop/pull/3',
        user: { login: 'ann' },
        head: { ref: 'better', sha: commit, repo: headRepo },
        base: { ref: 'main', repo: repository },
      },
    })
    expect(read('pull_request', request(repository))).toMatchObject({
      kind: 'pull_request',
      action: 'updated',
      number: 3,
      branch: 'better',
      targetBranch: 'main',
      fromFork: false,
    })
    const fork = { id: 8, full_name: 'mallory/Shop' }
    expect(read('pull_request', request(fork))).toMatchObject({
      fromFork: true,
      sourceRepository: { owner: 'mallory', repo: 'Shop' },
    })
    expect(read('pull_request', request(null))).toMatchObject({ fromFork: true, sourceRepository: null })
    expect(read('pull_request', { ...request(repository), action: 'labeled' })).toMatchObject({ kind: 'ignored' })
  })
  test('reads a deleted installation and a ping', () => {
    const installation = { id: 42, account: { login: 'acme' } }
    expect(read('installation', { action: 'deleted', installation })).toMatchObject({
      kind: 'installation_deleted',
      installationId: 42,
      account: 'acme',
    })
    expect(read('installation', { action: 'constructor', installation })).toMatchObject({ kind: 'ignored' })
    expect(read('ping', { zen: 'x', repository })).toMatchObject({ kind: 'ping' })
  })
  test.each([
    ['push', {}],
    ['push', { ref: 'refs/heads/x', after: 'not a commit', repository }],
    ['push', { ref: { toString: 'x' }, repository: { full_name: ['a/b'] } }],
    ['pull_request', { action: 'opened', repository, pull_request: { number: '3' } }],
    ['installation', { action: 'deleted' }],
  ])('refuses an invalid %s: %j', (event, body) => expect(read(event, body)).toBeNull())
  test.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])('ignores the event %s', (event) => {
    expect(read(event, { repository })).toMatchObject({ kind: 'ignored' })
    expect(read('pull_request', { action: event, repository, pull_request: { number: 3, head: { sha: commit } } })).toMatchObject(
      { kind: 'ignored' },
    )
  })
  test.each(['a\0b/c', 'a/b\nc', 'acme/shop\u202E', '../etc', 'a b/c', `acme/${'x'.repeat(300)}`, 'acme/', '/shop', 'acme'])(
    'refuses the repository name %j',
    (full_name) => expect(read('push', { ref: 'refs/heads/x', after: commit, repository: { full_name } })).toBeNull(),
  )
  test.each(['-x', 'a..b', 'a\0b', 'a\nb', 'a b', `x${'y'.repeat(300)}`])('refuses the branch name %j', (name) => {
    expect(read('push', { ref: `refs/heads/${name}`, after: commit, repository })).toMatchObject({ kind: 'ignored' })
    const pull_request = { number: 3, head: { ref: name, sha: commit }, base: { ref: 'main' } }
    expect(read('pull_request', { action: 'opened', repository, pull_request })).toBeNull()
  })
  test.each([0, -1, 2 ** 31, 1.5])('refuses the pull request number %s', (number) => {
    const pull_request = { number, head: { ref: 'x', sha: commit }, base: { ref: 'main' } }
    expect(read('pull_request', { action: 'opened', repository, pull_request })).toBeNull()
  })
  test('truncates texts and removes characters that a database cannot store', () => {
    const head_commit = { message: `a\0b\n${'x'.repeat(10_000)}`, author: { name: 'A\0nn'.repeat(100) } }
    const output = read('push', { ref: 'refs/heads/x', after: commit, repository, head_commit }) as PushDelivery
    expect([output.message.slice(0, 5), output.message.length, output.author?.includes('\0'), output.author?.length]).toEqual([
      'ab\nxx',
      4_999,
      false,
      150,
    ])
  })
  test('ignores a body that is not JSON', () => {
    expect(readGitHubDelivery({ 'x-github-event': 'push' }, Buffer.from('payload=%7B%7D'))).toBeNull()
    expect(readGitHubDelivery({ 'x-github-event': 'push' }, Buffer.from('[]'))).toBeNull()
  })
})
