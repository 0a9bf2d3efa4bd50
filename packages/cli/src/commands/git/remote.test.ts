import { expect, test } from 'vitest'
import { remoteOf } from './remote.ts'

test.each([
  ['https://github.com/acme/shop.git', 'github.com', 'acme', 'shop'],
  ['https://user:secret@github.com/acme/shop', 'github.com', 'acme', 'shop'],
  ['git@github.com:acme/shop.git\n', 'github.com', 'acme', 'shop'],
  ['ssh://git@git.example.com:2222/acme/shop.git', 'git.example.com', 'acme', 'shop'],
  ['http://127.0.0.1:3000/group/sub/shop.git', '127.0.0.1:3000', 'group/sub', 'shop'],
])('%s', (address, host, owner, repo) => expect(remoteOf(address)).toEqual({ host, owner, repo }))

test.each([
  '/srv/git/shop.git',
  '../shop',
  'https://github.com/shop',
  'git@github.com:-x/shop',
  'https://github.com/../shop',
  'C:\\shop',
])('%s names no repository of a host', (address) => expect(remoteOf(address)).toBeNull())
