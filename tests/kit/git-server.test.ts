import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { startGitServer } from './git-server.ts'
import { tempFolder } from './temp-folder.ts'

const run = promisify(execFile)
const quiet = { ...process.env, GIT_TERMINAL_PROMPT: '0', GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' }
const git = (...args: string[]) => run('git', args, { env: quiet }).then(({ stdout }) => stdout.trim())

describe('the git server of the kit', () => {
  test('serves what was committed, byte for byte, and takes a push', async () => {
    await using server = await startGitServer()
    await using work = await tempFolder('clone')
    const url = await server.createRepository('acme/shop')
    const bytes = Uint8Array.from({ length: 256 }, (_, index) => index)
    const first = await server.commit(
      'acme/shop',
      { 'a "quoted" ü.bin': bytes, 'run.sh': '#!/bin/sh\n', old: 'x' },
      { executable: ['run.sh'] },
    )
    const second = await server.commit('acme/shop', { old: null, 'new/file': 'y' }, { message: 'second' })
    await git('clone', '--quiet', '--', url, work.path)
    expect(await git('-C', work.path, 'log', '--format=%H %s')).toBe(`${second} second\n${first} change`)
    expect(new Uint8Array(await readFile(join(work.path, 'a "quoted" ü.bin')))).toEqual(bytes)
    expect(await git('-C', work.path, 'ls-files', '--stage', 'run.sh')).toMatch(/^100755 /)
    await expect(readFile(join(work.path, 'old'))).rejects.toThrow('ENOENT')

    await writeFile(join(work.path, 'pushed'), 'z')
    await git('-C', work.path, 'add', 'pushed')
    await git('-C', work.path, '-c', 'user.name=T', '-c', 'user.email=t@example.test', 'commit', '--quiet', '-m', 'third')
    await git('-C', work.path, 'push', '--quiet', 'origin', 'HEAD:main')
    expect(await git('-C', server.folderOf('acme/shop'), 'log', '-1', '--format=%s', 'main')).toBe('third')
    expect(server.requests.every(({ status }) => status === 200)).toBe(true)
    expect(server.requests.map(({ path }) => path)).toContain('/acme/shop.git/git-receive-pack')
  })

  test('with credentials refuses missing and wrong ones, and accepts a token with any user name', async () => {
    await using server = await startGitServer({ credentials: { ann: 'pass:word' } })
    const url = await server.createRepository('acme/secret')
    const sha = await server.commit('acme/secret', { a: '1' })
    const withUser = (name: string, password: string) => url.replace('//', `//${name}:${encodeURIComponent(password)}@`)
    await expect(git('ls-remote', url)).rejects.toThrow()
    await expect(git('ls-remote', withUser('ann', 'wrong'))).rejects.toThrow()
    expect(server.requests.every(({ status, user }) => status === 401 && user === null)).toBe(true)
    expect(await git('ls-remote', withUser('x-access-token', 'pass:word'), 'main')).toMatch(sha)
    expect(server.requests.at(-1)).toMatchObject({ status: 200, user: 'ann' })
  })

  test('does not serve files outside its repositories', async () => {
    await using server = await startGitServer()
    for (const path of ['/../../etc/passwd', '/%2e%2e/%2e%2e/etc/passwd', '/none.git/info/refs?service=git-upload-pack']) {
      expect((await fetch(server.url + path)).ok).toBe(false)
    }
  })
})
