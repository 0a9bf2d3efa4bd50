import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ServerChannel } from 'ssh2'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { Secret } from '../../platform/secrets/secret.ts'
import { createRunCommand } from '../shell/run-command.ts'
import { makeKeyPair, type SshServer, startSshServer } from '../shell/test-ssh-server.ts'
import { createGit, type Git } from './git.ts'
import { GitAuthFailed, GitHostKeyChanged, GitNotFound } from './git-errors.ts'
import { TestRepository } from './test-repository.ts'

const run = createRunCommand(process.env)
const key = makeKeyPair()
let base: string
let server: SshServer
let git: Git
let workFolder: string
let commit: string
let commands: string[]
let count = 0

beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), 'berth-git-ssh-'))
  const repository = await new TestRepository(run, join(base, 'app.git')).create()
  commit = await repository.commit('main', { a: '1' })
})
afterAll(() => rm(base, { recursive: true, force: true }))
beforeEach(async () => {
  commands = []
  server = await startSshServer({ authorizedKey: key.publicKey, execute })
  workFolder = join(base, `work ${count++}`)
  git = createGit({ shell: run, workFolder })
})
afterEach(() => server.close())

/** Acts as a git host: runs the one command that a fetch needs, for a path below the test folder. */
function execute(command: string, channel: ServerChannel): void {
  commands.push(command)
  const [, path] = /^git-upload-pack '\/([\w.]+)'$/.exec(command) ?? []
  const finish = (code: number) => {
    channel.exit(code)
    channel.end()
  }
  run(
    { program: 'git', args: ['upload-pack', join(base, path ?? 'nowhere')], env: { GIT_CONFIG_GLOBAL: '/dev/null' } },
    {
      timeoutMs: 60_000,
      maxOutputBytes: 0,
      input: channel,
      acceptExitCodes: 'any',
      onStdout: (chunk) => void channel.write(chunk),
      onStderr: (chunk) => void channel.stderr.write(chunk),
    },
  ).then(
    ({ exitCode }) => finish(exitCode ?? 1),
    () => finish(1),
  )
}

const remote = (sshKey: string | null = key.privateKey, path = 'app.git') => ({
  url: `ssh://git@127.0.0.1:${server.port}/${path}`,
  ...(sshKey ? { sshKey: new Secret(sshKey) } : {}),
})

test('a key opens a repository over ssh', async () => {
  expect(await git.remoteHead(remote(), 'main')).toBe(commit)
  expect(await git.recentCommits(remote(), 'main', 5)).toHaveLength(1)
  await git.checkout(remote(), { commit }, join(base, 'into'))
  expect(await readFile(join(base, 'into', 'a'), 'utf8')).toBe('1')
  expect(server.logins.every(({ user, accepted }) => user === 'git' && accepted)).toBe(true)
  expect(commands.every((command) => command === "git-upload-pack '/app.git'")).toBe(true)
})

test("a wrong key, no key, and a key of the machine's user are refused", async () => {
  const home = join(base, 'home')
  await mkdir(join(home, '.ssh'), { recursive: true })
  await writeFile(join(home, '.ssh', 'id_ed25519'), key.privateKey, { mode: 0o600 })
  const wrong = await git.listRefs(remote(makeKeyPair().privateKey)).catch((error) => error)
  expect(wrong).toBeInstanceOf(GitAuthFailed)
  expect(wrong.message).toContain('rejected the SSH key')
  const own = createGit({ shell: createRunCommand({ ...process.env, HOME: home }), workFolder })
  await expect(own.listRefs(remote(null))).rejects.toBeInstanceOf(GitAuthFailed)
  await expect(git.listRefs(remote('not a key'))).rejects.toBeInstanceOf(GitAuthFailed)
  expect(commands).toEqual([])
})

test('a missing repository is GitNotFound', async () => {
  await expect(git.listRefs(remote(key.privateKey, 'nowhere.git'))).rejects.toBeInstanceOf(GitNotFound)
})

test('the host key is pinned at first contact, and a changed key is an error with both fingerprints', async () => {
  await git.listRefs(remote())
  const { port, fingerprint } = server
  await server.close()
  server = await startSshServer({ authorizedKey: key.publicKey, execute, port })
  commands = []
  const error = await git.listRefs(remote()).catch((failure) => failure)
  expect(error).toBeInstanceOf(GitHostKeyChanged)
  expect(error).toMatchObject({ host: '127.0.0.1', pinned: [fingerprint], offered: server.fingerprint })
  expect(error.message).toContain(fingerprint)
  expect(error.message).toContain(server.fingerprint)
  expect(server.logins).toEqual([])
  expect(commands).toEqual([])

  await git.forgetHostKey(remote().url)
  expect(await git.remoteHead(remote(), 'main')).toBe(commit)
})

test('the key is in no remaining file, and files of a killed run are removed', async () => {
  await git.listRefs(remote())
  const left = join(workFolder, 'run', `${process.pid}-left-by-a-killed-process`)
  await mkdir(left)
  await writeFile(join(left, 'key'), key.privateKey)
  await createGit({ shell: run, workFolder }).listRefs(remote())
  expect(await readdir(join(workFolder, 'run'))).toEqual([])
  const [, , line] = key.privateKey.split('\n')
  for (const entry of await readdir(workFolder, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) expect(await readFile(join(entry.parentPath, entry.name), 'latin1')).not.toContain(line)
  }
})

test('without ssh the error says what to install', async () => {
  const bin = join(base, 'bin')
  await mkdir(bin)
  for (const program of ['git', 'sh']) {
    const { stdout } = await run(
      { program: 'sh', args: ['-c', 'command -v "$1"', 'sh', program] },
      { timeoutMs: 60_000, maxOutputBytes: 1000 },
    )
    await symlink(stdout.trim(), join(bin, program))
  }
  const own = createGit({ shell: createRunCommand({ PATH: bin }), workFolder })
  await expect(own.listRefs(remote())).rejects.toThrow('install openssh-client')
})

test('with a list of permitted addresses, ssh connects to the permitted one', async () => {
  const permittedAddresses = async () => ['127.0.0.1']
  const own = createGit({ shell: run, workFolder, permittedAddresses })
  expect(await own.remoteHead({ ...remote(), url: `ssh://git@git.example:${server.port}/app.git` }, 'main')).toBe(commit)
  expect(await readFile(join(workFolder, 'known_hosts'), 'utf8')).toMatch(`[git.example]:${server.port} ssh-ed25519 `)
})
