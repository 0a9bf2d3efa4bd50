import { describe, expect, test } from 'vitest'
import { providerOf, replaceRepository, repositoryOf } from './git-remote.ts'

const urls = { github: 'https://github.com', gitlab: 'https://gitlab.com', gitea: 'https://git.example.com:3000' }
const enterprise = { ...urls, github: 'https://ghe.example.com' }

describe('owner and repository of a remote', () => {
  test.each([
    ['https://github.com/acme/shop.git', 'acme', 'shop'],
    ['https://github.com/acme/shop', 'acme', 'shop'],
    ['https://github.com/acme/shop/', 'acme', 'shop'],
    ['https://gitlab.com/group/sub/shop.git', 'group/sub', 'shop'],
    ['git@github.com:acme/shop.git', 'acme', 'shop'],
    ['ssh://git@git.example.com:2222/acme/shop.git', 'acme', 'shop'],
  ])('%s', (url, owner, repo) => expect(repositoryOf(url)).toEqual({ owner, repo }))

  test.each(['https://git.example.com/shop.git', 'git@example.com:~me/shop.git', 'https://example.com/a%20b/c'])(
    '%s has no owner and repository',
    (url) => expect(repositoryOf(url)).toBeNull(),
  )
})

describe('another repository at the same host', () => {
  const other = { owner: 'x', repo: 'y' }
  test.each([
    ['https://git.example.com/acme/shop.git', 'https://git.example.com/x/y.git'],
    ['https://git.example.com/acme/shop', 'https://git.example.com/x/y'],
    ['git@git.example.com:acme/shop.git', 'git@git.example.com:x/y.git'],
    ['ssh://git@acme/acme/shop.git', 'ssh://git@acme/x/y.git'],
    ['https://git.example.com/shop.git', null],
  ])('%s → %s', (url, expected) => expect(replaceRepository(url, other)).toBe(expected))
})

describe('the provider of a host', () => {
  test.each([
    ['https://github.com/a/b', 'github'],
    ['git@GitHub.com:a/b.git', 'github'],
    ['ssh://git@gitlab.com/a/b', 'gitlab'],
    ['https://github.com.evil.test/a/b', 'git'],
    ['https://evil.test/github.com/b', 'git'],
    ['https://git.example.com:3000/a/b', 'gitea'],
    ['git@git.example.com:a/b', 'gitea'],
    ['https://git.example.com/a/b', 'git'],
  ])('%s: %s', (url, provider) => expect(providerOf(url, urls)).toBe(provider))
  test('the GitHub host comes from the settings', () => {
    expect(providerOf('git@ghe.example.com:a/b.git', enterprise)).toBe('github')
    expect(providerOf('https://github.com/a/b', enterprise)).toBe('git')
  })
})
