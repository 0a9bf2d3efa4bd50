import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { Secret } from '../../platform/secrets/secret.ts'
import type { Access, GitHost } from './git-host.ts'

/** A test host for the suite. `acme` is an organisation of the user ann. */
export interface SuiteHost {
  host: GitHost
  annsToken: string
  createRepository(name: string, files: Record<string, string>): Promise<unknown>
  statuses: { repository: string; sha: string; state: string; context: string }[]
  hooks: { id: number; repository: string; url: string; secret: string }[]
  /** Comments of one pull request. */
  comments(name: string, number: number): Promise<string[]>
  /** A pull request or an issue to comment on. */
  openPullRequest(name: string): Promise<number>
  /** Open pull requests in the host's form: 7 of a branch, 8 of a fork, and 9 without a commit. */
  openRequests: unknown[]
  /** Redirects calls for one repository to the other, as after a rename. */
  rename(from: string, to: string): void
  intercept(answer: { status?: number; json?: unknown; headers?: Record<string, string> } | null): void
  /** Status codes of the responses so far. */
  answered(): number[]
  close(): Promise<void>
}

const token = (value: string, id = value): Access => ({ kind: 'token', id, token: new Secret(value) })
const failing = (errorKind: string) => expect.objectContaining({ name: 'GitHostError', errorKind })

/** Checks the contract of `git-host.ts`, on every host. */
export function describeGitHost(title: string, start: () => Promise<SuiteHost>): void {
  describe(title, () => {
    let scene: SuiteHost
    let host: GitHost
    let ann: Access
    const shop = { owner: 'acme', repo: 'shop' }
    beforeAll(async () => {
      scene = await start()
      host = scene.host
      ann = token(scene.annsToken)
      await scene.createRepository('acme/shop', { 'package.json': '{}', 'src/a b.ts': 'one\n', 'src/deep/two.ts': 'two' })
      await scene.createRepository('ann/blog', { 'README.md': 'x' })
    })
    afterAll(() => scene?.close())
    afterEach(() => scene.intercept(null))

    test('the account of a token', async () => {
      expect(await host.account(ann)).toMatchObject({ login: 'ann', type: 'user' })
      await expect(host.account(token('unknown'))).rejects.toEqual(failing('unauthorized'))
    })

    test('lists every repository that the token can read, with clone addresses of the host', async () => {
      const list = await host.repositories(ann)
      expect(list.map(({ fullName }) => fullName).sort()).toEqual(['acme/shop', 'ann/blog'])
      expect(list.find(({ name }) => name === 'shop')).toMatchObject({
        owner: 'acme',
        private: true,
        defaultBranch: 'main',
        cloneUrl: `${host.webUrl}/acme/shop.git`,
        htmlUrl: `${host.webUrl}/acme/shop`,
      })
    })

    test('repositories of an organisation, of an account, and of an unknown owner', async () => {
      expect((await host.repositoriesOf(ann, 'acme')).map(({ name }) => name)).toEqual(['shop'])
      expect((await host.repositoriesOf(ann, 'ann')).map(({ name }) => name)).toEqual(['blog'])
      await expect(host.repositoriesOf(ann, 'no-such-name')).rejects.toEqual(failing('not_found'))
    })

    test('a repository, its branches, files and contents', async () => {
      expect(await host.repository(ann, shop)).toMatchObject({ fullName: 'acme/shop' })
      await expect(host.repository(ann, { owner: 'acme', repo: 'none' })).rejects.toEqual(failing('not_found'))
      expect(await host.branches(ann, shop)).toEqual([
        { name: 'main', commit: expect.stringMatching(/^[0-9a-f]{40}$/), protected: true },
      ])
      expect((await host.files(ann, shop, { path: '' })).map(({ name, type }) => [name, type])).toEqual([
        ['package.json', 'file'],
        ['src', 'dir'],
      ])
      expect((await host.files(ann, shop, { path: 'src', branch: 'main' })).map(({ path }) => path)).toEqual([
        'src/a b.ts',
        'src/deep',
      ])
      await expect(host.files(ann, shop, { path: 'nowhere' })).rejects.toEqual(failing('not_found'))
      expect(await host.file(ann, shop, { path: 'src/a b.ts' })).toEqual({
        path: 'src/a b.ts',
        branch: 'main',
        sizeBytes: 4,
        text: 'one\n',
      })
      await expect(host.file(ann, shop, { path: 'nowhere.ts' })).rejects.toEqual(failing('not_found'))
    })

    test('the list of the account contains its private repositories', async () => {
      expect(await host.repositoriesOf(ann, 'ann')).toMatchObject([{ name: 'blog', private: true }])
    })

    test('a file over 1 MB is read completely; one over the limit is refused', async () => {
      const text = 'line of a large file\n'.repeat(80_000)
      await scene.createRepository('acme/large', { 'large.txt': text, 'huge.txt': 'x'.repeat(10 * 1024 * 1024 + 1) })
      const large = { owner: 'acme', repo: 'large' }
      const file = await host.file(ann, large, { path: 'large.txt' })
      expect([file.sizeBytes, file.text === text]).toEqual([text.length, true])
      await expect(host.file(ann, large, { path: 'huge.txt' })).rejects.toEqual(failing('refused'))
      await host.deleteRepository(ann, large)
    })

    test('an empty repository has no branches and no files, and reading a file is the error "empty"', async () => {
      await host.createRepository(ann, { name: 'empty', private: true, owner: null })
      const empty = { owner: 'ann', repo: 'empty' }
      expect(await host.branches(ann, empty)).toEqual([])
      expect(await host.files(ann, empty, { path: '' })).toEqual([])
      await expect(host.file(ann, empty, { path: 'package.json' })).rejects.toEqual(failing('empty'))
      scene.intercept({ status: 409, json: { message: 'Git Repository is empty.' } })
      expect(await host.branches(ann, empty)).toEqual([])
      scene.intercept(null)
      await host.deleteRepository(ann, empty)
    })

    test('a renamed repository is read and written under its old name', async () => {
      await scene.createRepository('acme/renamed', { 'package.json': '{}' })
      scene.rename('acme/before', 'acme/renamed')
      const before = { owner: 'acme', repo: 'before' }
      expect(await host.repository(ann, before)).toMatchObject({ fullName: 'acme/renamed' })
      expect(await host.branches(ann, before)).toMatchObject([{ name: 'main' }])
      expect(await host.file(ann, before, { path: 'package.json' })).toMatchObject({ text: '{}' })
      const hook = await host.createHook(ann, before, { url: 'http://berth.test/renamed', secret: new Secret('first') })
      expect(await host.hooks(ann, before)).toMatchObject([{ id: hook.id }])
      await host.changeHook(ann, before, hook.id, { url: 'http://berth.test/moved', secret: new Secret('second') })
      expect(scene.hooks.at(-1)).toMatchObject({ repository: 'acme/renamed', url: 'http://berth.test/moved' })
      await host.deleteHook(ann, before, hook.id)
      scene.intercept(null)
      await host.deleteRepository(ann, { owner: 'acme', repo: 'renamed' })
    })

    test('a repository is created and deleted; an existing name is a conflict', async () => {
      const settings = { name: 'made', private: true, owner: null }
      expect(await host.createRepository(ann, settings)).toMatchObject({ fullName: 'ann/made', private: true })
      await expect(host.createRepository(ann, settings)).rejects.toEqual(failing('conflict'))
      expect(await host.createRepository(ann, { ...settings, owner: 'acme' })).toMatchObject({ fullName: 'acme/made' })
      for (const owner of ['ann', 'acme']) await host.deleteRepository(ann, { owner, repo: 'made' })
      await expect(host.repository(ann, { owner: 'ann', repo: 'made' })).rejects.toEqual(failing('not_found'))
    })

    test('a webhook with its secret is created, changed and deleted', async () => {
      const hook = await host.createHook(ann, shop, { url: 'http://berth.test/one', secret: new Secret('first') })
      expect(await host.hooks(ann, shop)).toMatchObject([{ id: hook.id, url: 'http://berth.test/one', active: true }])
      expect(scene.hooks.at(-1)).toMatchObject({ repository: 'acme/shop', secret: 'first' })
      await host.changeHook(ann, shop, hook.id, { url: 'http://berth.test/two', secret: new Secret('second') })
      expect(scene.hooks.at(-1)).toMatchObject({ id: hook.id, url: 'http://berth.test/two', secret: 'second' })
      await host.deleteHook(ann, shop, hook.id)
      expect(await host.hooks(ann, shop)).toEqual([])
      await expect(host.deleteHook(ann, shop, hook.id)).rejects.toEqual(failing('not_found'))
    })

    test('the status of a commit, and one comment per marker', async () => {
      const sha = 'c'.repeat(40)
      await host.setCommitStatus(ann, shop, sha, {
        state: 'success',
        description: 'live',
        context: 'berth/shop',
        targetUrl: null,
      })
      expect(scene.statuses.at(-1)).toMatchObject({ repository: 'acme/shop', sha, state: 'success', context: 'berth/shop' })
      const number = await scene.openPullRequest('acme/shop')
      for (const text of ['building', 'live']) await host.comment(ann, shop, number, { marker: 'berth prj_1', text })
      await host.comment(ann, shop, number, { marker: 'berth prj_2', text: 'other' })
      expect(await scene.comments('acme/shop', number)).toEqual(['<!-- berth prj_1 -->\nlive', '<!-- berth prj_2 -->\nother'])
    })

    test('open pull requests are listed as deliveries; one without commits is left out, and an invalid response is an error', async () => {
      scene.intercept({ json: scene.openRequests })
      expect(await host.pullRequests(ann, shop)).toMatchObject([
        { kind: 'pull_request', action: 'opened', repository: shop, number: 7, branch: 'feature', fromFork: false },
        { number: 8, commit: 'e'.repeat(40), targetBranch: 'main', author: 'bo', fromFork: true },
      ])
      scene.intercept({ json: { hello: 'world' } })
      await expect(host.pullRequests(ann, shop)).rejects.toEqual(failing('invalidResponse'))
      scene.intercept(null)
    })

    test('git gets the token and a user name', async () => {
      const { token: given, username } = await host.repositoryToken(ann, shop)
      expect([given.reveal(), username.length > 0]).toEqual([scene.annsToken, true])
    })

    test('a rate limit, an outage, a broken response and an invalid one have different codes', async () => {
      const errorKinds = async (id: string) => host.repository(token(scene.annsToken, id), shop).catch((error) => error.errorKind)
      scene.intercept({ status: 429, json: { message: 'slow down' }, headers: { 'retry-after': '600' } })
      const limited = await host.repository(token(scene.annsToken, 'a'), shop).catch((error) => error)
      expect(limited).toEqual(failing('limited'))
      expect(limited.resetAt.getTime()).toBeGreaterThan(Date.now() + 500_000)
      scene.intercept({ status: 503, json: {} })
      expect(await errorKinds('b')).toBe('unreachable')
      scene.intercept({ json: { hello: 'world' } })
      expect(await errorKinds('c')).toBe('invalidResponse')
      scene.intercept({ status: 403, json: { message: 'You may not' } })
      expect(await errorKinds('d')).toBe('forbidden')
    })

    test('an unchanged list is read with a conditional request', async () => {
      const first = await host.repositories(ann)
      const before = scene.answered().length
      expect(await host.repositories(ann)).toEqual(first)
      expect(scene.answered().slice(before)).toEqual([304])
    })
  })
}
