import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { Secret } from '../../platform/secrets/secret.ts'
import { createRunCommand } from '../shell/run-command.ts'
import { createGit, type Git } from './git.ts'
import { GitAuthFailed, GitNotFound, GitTimedOut, GitTooLarge, GitUnreachable } from './git-errors.ts'
import { type GitServer, startGitServer } from './test-git-server.ts'
import { TestRepository } from './test-repository.ts'

const run = createRunCommand(process.env)
let base: string
let server: GitServer
let repository: TestRepository
let git: Git
let commits: string[]
let count = 0

beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), 'berth-git-'))
  repository = await new TestRepository(run, join(base, 'repositories', 'owner', 'app.git')).create()
  commits = []
  for (const [index, message] of ['first', 'second\n\nwith a body', 'third'].entries()) {
    commits.push(await repository.commit('main', { 'index.js': `${index}`, 'run.sh': '#!/bin/sh\n' }, { message }))
  }
  await repository.commit('feature/x', { 'index.js': 'x' }, { parents: [commits[0]!] })
  server = await startGitServer(run, join(base, 'repositories'))
  git = createGit({ shell: run, workFolder: join(base, 'work') })
})
afterAll(async () => {
  await server.close()
  await rm(base, { recursive: true, force: true })
})
beforeEach(() => {
  Object.assign(server, { password: null, intercept: null, delayMs: 0, requests: [] })
})

const remote = (path = 'owner/app.git') => ({ url: `${server.url}/${path}` })
const target = () => join(base, 'checkouts', String(count++))

describe('a remote', () => {
  test('lists its branches and the default one', async () => {
    const refs = await git.listRefs(remote())
    expect(refs.defaultBranch).toBe('main')
    expect(refs.heads.map(({ name }) => name).sort()).toEqual(['feature/x', 'main'])
    expect(refs.heads.find(({ name }) => name === 'main')?.commit).toBe(commits[2])
  })

  test('has the newest commit of a branch and of HEAD, and null for a missing branch', async () => {
    expect(await git.remoteHead(remote(), 'main')).toBe(commits[2])
    expect(await git.remoteHead(remote())).toBe(commits[2])
    expect(await git.remoteHead(remote(), 'x')).toBeNull()
    await expect(git.remoteHead(remote(), '--upload-pack=id')).rejects.toBeInstanceOf(GitNotFound)
  })

  test('has none of them if it is empty', async () => {
    await new TestRepository(run, join(base, 'repositories', 'empty.git')).create()
    expect(await git.listRefs(remote('empty.git'))).toEqual({ defaultBranch: null, heads: [] })
    expect(await git.remoteHead(remote('empty.git'), 'main')).toBeNull()
    await expect(git.recentCommits(remote('empty.git'), undefined, 5)).rejects.toBeInstanceOf(GitNotFound)
  })

  test('lists its recent commits, newest first', async () => {
    const recent = await git.recentCommits(remote(), 'main', 2)
    expect(recent).toEqual([
      { sha: commits[2], message: 'third', author: 'Ann', committedAt: expect.stringMatching(/^\d{4}-.*Z$/) },
      { sha: commits[1], message: 'second\n\nwith a body', author: 'Ann', committedAt: expect.any(String) },
    ])
    expect(await git.recentCommits(remote(), undefined, 10)).toHaveLength(3)
    await expect(git.recentCommits(remote(), 'nowhere', 10)).rejects.toMatchObject({ name: 'GitNotFound', what: 'branch' })
  })
})

describe('the number of commits that a commit is behind', () => {
  test('counts the further commits of the branch, also for a short id', async () => {
    expect(await git.commitsBetween(remote(), commits[0]!, commits[2]!)).toBe(2)
    expect(await git.commitsBetween(remote(), commits[0]!.slice(0, 8), commits[2]!)).toBe(2)
    expect(await git.commitsBetween(remote(), commits[2]!.slice(0, 7), commits[2]!)).toBe(0)
    expect(await git.commitsBetween(remote(), commits[2]!, commits[0]!)).toBe(0)
  })

  test('counts a merged side branch completely, and the new commits of a rewritten branch', async () => {
    const merged = await new TestRepository(run, join(base, 'repositories', 'merged.git')).create()
    const first = await merged.manyCommits('main', 70)
    const side = await merged.manyCommits('side', 5, await merged.git('rev-parse', 'main~60').then((id) => id.trim()))
    const merge = await merged.commit('main', { f: 'm' }, { parents: [first, side] })
    expect(await git.commitsBetween(remote('merged.git'), first, merge)).toBe(6)
    expect(await git.commitsBetween(remote('merged.git'), side, merge)).toBe(61)
  })

  test('is null beyond the limit', async () => {
    const long = await new TestRepository(run, join(base, 'repositories', 'long.git')).create()
    const newest = await long.manyCommits('main', 1200)
    const ancestor = async (back: number) => (await long.git('rev-parse', `main~${back}`)).trim()
    expect(await git.commitsBetween(remote('long.git'), await ancestor(60), newest)).toBe(60)
    expect(await git.commitsBetween(remote('long.git'), await ancestor(1100), newest)).toBeNull()
  })

  test('is null if a commit cannot be looked up', async () => {
    const unknown = '0123456789'.repeat(4)
    expect(await git.commitsBetween(remote(), unknown, commits[2]!)).toBeNull()
    expect(await git.commitsBetween(remote(), commits[0]!, unknown)).toBeNull()
    expect(await git.commitsBetween(remote('nowhere.git'), commits[0]!, commits[2]!)).toBeNull()
    expect(await git.commitsBetween(remote(), 'main', commits[2]!)).toBeNull()
    server.password = 'secret'
    expect(await git.commitsBetween(remote(), commits[0]!, commits[1]!)).toBeNull()
  })

  test('fetches commits only, not the files', async () => {
    const heavy = await new TestRepository(run, join(base, 'repositories', 'heavy.git')).create()
    const noise = () => Array.from({ length: 50_000 }, () => Math.random()).join()
    const first = await heavy.commit('main', { noise: noise() })
    const second = await heavy.commit('main', { noise: noise() })
    const own = createGit({ shell: run, workFolder: join(base, 'work-heavy') })
    expect(await own.commitsBetween(remote('heavy.git'), first, second)).toBe(1)
    const { stdout } = await run(
      { program: 'du', args: ['-sk', join(base, 'work-heavy', 'cache')] },
      { timeoutMs: 60_000, maxOutputBytes: 1000 },
    )
    expect(Number.parseInt(stdout, 10)).toBeLessThan(300)
  })
})

describe('the cache of a remote', () => {
  const cached = async (workFolder: string) => {
    const [name] = await readdir(join(workFolder, 'cache'))
    return join(workFolder, 'cache', name!)
  }

  test('is repaired after a kill during a fetch', async () => {
    const workFolder = join(base, 'work-killed')
    const own = createGit({ shell: run, workFolder })
    await own.recentCommits(remote(), 'main', 5)
    const folder = await cached(workFolder)
    await writeFile(join(folder, 'still-the-same'), '')
    for (const name of ['shallow.lock', 'config.lock', 'HEAD.lock', 'refs/berth/to.lock', 'objects/pack/tmp_pack_x']) {
      await writeFile(join(folder, name), '')
    }
    expect(await own.commitsBetween(remote(), commits[0]!, commits[2]!)).toBe(2)
    expect((await readdir(folder, { recursive: true })).filter((name) => /\.lock$|tmp_/.test(name))).toEqual([])
    expect(await readdir(folder)).toContain('still-the-same')
  })

  test.each([
    ['damaged objects', async (folder: string) => rm(join(folder, 'objects'), { recursive: true })],
    ['half a config', async (folder: string) => writeFile(join(folder, 'config'), '[core')],
    ['an empty HEAD', async (folder: string) => writeFile(join(folder, 'HEAD'), '')],
    ['a ref to nothing', async (folder: string) => writeFile(join(folder, 'refs/berth/to'), `${'1'.repeat(40)}\n`)],
  ])('is created again if it has %s', async (title, damage) => {
    const workFolder = join(base, `work-${title}`.replaceAll(' ', '-'))
    const own = createGit({ shell: run, workFolder })
    await own.commitsBetween(remote(), commits[0]!, commits[2]!)
    await damage(await cached(workFolder))
    expect(await own.commitsBetween(remote(), commits[1]!, commits[2]!)).toBe(1)
  })

  test('is used by one command at a time', async () => {
    const own = createGit({ shell: run, workFolder: join(base, 'work-shared') })
    const answers = await Promise.all([
      own.commitsBetween(remote(), commits[0]!, commits[2]!),
      own.recentCommits(remote(), 'feature/x', 5).then((list) => list.length),
      own.commitsBetween(remote(), commits[1]!, commits[2]!),
      own.recentCommits(remote(), 'main', 5).then((list) => list.length),
    ])
    expect(answers).toEqual([2, 2, 1, 3])
  })

  test('is removed if it was unused for long', async () => {
    const own = createGit({ shell: run, workFolder: join(base, 'work-swept') })
    await own.recentCommits(remote(), 'main', 5)
    await own.sweepCaches(60_000, new Date())
    expect(await readdir(join(base, 'work-swept', 'cache'))).toHaveLength(1)
    await own.sweepCaches(60_000, new Date(Date.now() + 120_000))
    expect(await readdir(join(base, 'work-swept', 'cache'))).toEqual([])
  })
})

describe('a checkout', () => {
  test('contains the files of the branch without .git', async () => {
    const into = target()
    const progress: string[] = []
    const result = await git.checkout(remote(), { branch: 'main' }, into, { onProgress: (line) => progress.push(line) })
    expect(result).toEqual({ commit: commits[2], linksOutside: [], warnings: [] })
    expect((await readdir(into)).sort()).toEqual(['index.js', 'run.sh'])
    expect(await readFile(join(into, 'index.js'), 'utf8')).toBe('2')
    expect((await stat(join(into, 'run.sh'))).mode & 0o100).toBe(0o100)
    expect(progress.some((line) => line.includes('Counting objects'))).toBe(true)
  })

  test('fetches exactly one commit, by its full or short id, or HEAD', async () => {
    const [whole, short, head] = [target(), target(), target()]
    expect((await git.checkout(remote(), { commit: commits[0]! }, whole)).commit).toBe(commits[0])
    expect(await readFile(join(whole, 'index.js'), 'utf8')).toBe('0')
    expect((await git.checkout(remote(), { commit: commits[1]!.slice(0, 7), branch: 'main' }, short)).commit).toBe(commits[1])
    expect((await git.checkout(remote(), {}, head)).commit).toBe(commits[2])
  })

  test('fetches an older commit from an old server too', async () => {
    const old = await startGitServer(run, join(base, 'repositories'), { HTTP_GIT_PROTOCOL: '' })
    try {
      const into = target()
      const oldRemote = { url: `${old.url}/owner/app.git` }
      expect((await git.checkout(oldRemote, { commit: commits[0]! }, into)).commit).toBe(commits[0])
      expect(await readFile(join(into, 'index.js'), 'utf8')).toBe('0')
      await expect(git.checkout(oldRemote, { commit: '0123456789'.repeat(4) }, target())).rejects.toMatchObject({
        what: 'commit',
      })
      expect(await git.commitsBetween(oldRemote, commits[0]!, commits[2]!)).toBe(2)
    } finally {
      await old.close()
    }
  })

  test('is shallow, and keeps .git on request', async () => {
    const into = target()
    await git.checkout(remote(), { branch: 'main' }, into, { keepGitFolder: true })
    const { stdout } = await run(
      { program: 'git', args: ['-C', into, 'rev-list', '--count', 'HEAD'] },
      { timeoutMs: 60_000, maxOutputBytes: 100 },
    )
    expect(stdout.trim()).toBe('1')
  })

  test('fails with the missing branch or commit and leaves no files', async () => {
    const into = target()
    await expect(git.checkout(remote(), { branch: 'nowhere' }, into)).rejects.toMatchObject({
      name: 'GitNotFound',
      what: 'branch',
    })
    await expect(git.checkout(remote(), { commit: '0123456789'.repeat(4) }, into)).rejects.toMatchObject({ what: 'commit' })
    await expect(git.checkout(remote(), { commit: 'abcdef1' }, into)).rejects.toMatchObject({ what: 'commit' })
    await expect(git.checkout(remote(), { commit: 'main' }, into)).rejects.toMatchObject({ what: 'commit' })
    await expect(git.checkout(remote('nowhere.git'), {}, into)).rejects.toMatchObject({ what: 'repository' })
    expect((await readdir(join(base, 'checkouts'))).filter((name) => name.includes('partial'))).toEqual([])
    expect(await stat(into).catch(() => null)).toBeNull()
  })

  test('runs no hook and no filter, follows no symlink, and refuses an incomplete Git LFS pointer', async () => {
    const hostile = await new TestRepository(run, join(base, 'repositories', 'hostile.git')).create()
    await hostile.commit('main', {
      '.gitattributes': '* filter=evil\n*.bin filter=lfs\n',
      'hooks/post-checkout': '#!/bin/sh\ntouch ../owned\n',
      'a.bin': 'version https://git-lfs.github.com/spec/v1\n',
      'out@': '/etc/passwd',
      'up@': '../../secret',
      'in@': 'a.bin',
      'nowhere@': 'missing',
    })
    const into = target()
    const result = await git.checkout(remote('hostile.git'), {}, into)
    expect(result.linksOutside.sort()).toEqual(['out', 'up'])
    expect(result.warnings).toEqual([])
  })

  test('over the size limit is refused before it fills the disk', async () => {
    const bomb = await new TestRepository(run, join(base, 'repositories', 'bomb.git')).create()
    await bomb.commit('main', { f: 'x' })
    const blob = (await bomb.git('rev-parse', 'main:f')).trim()
    const ten = (mode: string, kind: string, id: string) =>
      bomb.folderOf(Array.from({ length: 10 }, (_, index) => ({ mode, kind, id, name: `e${index}` })))
    let tree = await ten('100644', 'blob', blob)
    for (let depth = 0; depth < 9; depth += 1) tree = await ten('040000', 'tree', tree)
    const commit = (await bomb.git('commit-tree', tree, '-m', 'bomb')).trim()
    await bomb.git('update-ref', 'refs/heads/main', commit)
    const into = target()
    await expect(git.checkout(remote('bomb.git'), {}, into, { maxFiles: 10_000 })).rejects.toBeInstanceOf(GitTooLarge)
    await expect(git.checkout(remote(), {}, into, { maxBytes: 10 })).rejects.toBeInstanceOf(GitTooLarge)
    expect(await stat(into).catch(() => null)).toBeNull()
  })

  test('ends on abort and leaves no files', async () => {
    const into = target()
    const stop = new AbortController()
    server.intercept = () => {
      setImmediate(() => stop.abort())
      return true
    }
    await expect(git.checkout(remote(), {}, into, { abort: stop.signal })).rejects.toMatchObject({ name: 'AbortError' })
    expect((await readdir(join(base, 'checkouts'))).filter((name) => name.includes('partial'))).toEqual([])
  })
})

describe('errors', () => {
  test('a private repository without a token and with a wrong token', async () => {
    server.password = 'right'
    const without = await git.listRefs(remote()).catch((error) => error)
    expect(without).toBeInstanceOf(GitAuthFailed)
    expect(without.message).toContain('needs a token')
    const wrong = await git.listRefs({ ...remote(), credential: { token: new Secret('wrong-token') } }).catch((error) => error)
    expect(wrong).toBeInstanceOf(GitAuthFailed)
    expect(wrong.message).toContain('rejected the token')
    expect(JSON.stringify([wrong.message, wrong.detail, wrong.stack])).not.toContain('wrong-token')
  })

  test('a missing repository, an unreachable host, an error of the host', async () => {
    await expect(git.listRefs(remote('nowhere.git'))).rejects.toMatchObject({ name: 'GitNotFound', what: 'repository' })
    await expect(git.listRefs({ url: 'http://127.0.0.1:9/openssl/tls.git' })).rejects.toThrow('127.0.0.1 refused the connection')
    await expect(git.listRefs({ url: 'http://127.0.0.1:9/x' })).rejects.toBeInstanceOf(GitUnreachable)
    server.intercept = (_request, response) => Boolean(response.writeHead(503).end())
    await expect(git.listRefs(remote())).rejects.toThrow('answered with the error 503')
    server.intercept = (_request, response) => Boolean(response.writeHead(200).end('<!doctype html>\n<p>Hello</p>\n'))
    await expect(git.listRefs(remote())).rejects.toMatchObject({ name: 'GitNotFound' })
  })

  test('a host that does not answer times out', async () => {
    server.intercept = () => true
    await expect(git.listRefs(remote(), { timeoutMs: 300 })).rejects.toBeInstanceOf(GitTimedOut)
    await expect(git.checkout(remote(), {}, target(), { timeoutMs: 600 })).rejects.toBeInstanceOf(GitTimedOut)
  })
})
