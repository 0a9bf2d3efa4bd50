import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { RunCommand } from '../shell/command.ts'

/** Test support: a bare repository made by real git, as on a server. */
export class TestRepository {
  readonly folder: string
  readonly #run: RunCommand
  readonly #home: string

  constructor(run: RunCommand, folder: string) {
    this.#run = run
    this.folder = folder
    this.#home = dirname(folder)
  }

  async create(): Promise<this> {
    await mkdir(this.folder, { recursive: true })
    await this.git('init', '-q', '--bare', '-b', 'main', '.')
    await this.git('config', 'uploadpack.allowFilter', 'true')
    return this
  }

  async git(...args: string[]): Promise<string> {
    return this.#git(args)
  }

  /** Creates a commit on top of `parents` (default: the branch) with exactly these files. */
  async commit(
    branch: string,
    files: Record<string, string>,
    options: { parents?: string[]; message?: string } = {},
  ): Promise<string> {
    const head = (await this.git('rev-parse', '--verify', '-q', `refs/heads/${branch}`).catch(() => '')).trim()
    const parents = options.parents ?? (head ? [head] : [])
    const tree = await this.#tree(files)
    const args = [
      'commit-tree',
      tree,
      ...parents.flatMap((parent) => ['-p', parent]),
      '-m',
      options.message ?? `change on ${branch}`,
    ]
    const commit = (await this.git(...args)).trim()
    await this.git('update-ref', `refs/heads/${branch}`, commit)
    return commit
  }

  /** Creates many commits at once; returns the last one's id. */
  async manyCommits(branch: string, count: number, from?: string): Promise<string> {
    const lines = Array.from({ length: count }, (_, index) => {
      const start = index === 0 && from ? `from ${from}\n` : ''
      return `commit refs/heads/${branch}\ncommitter Ann <a@example.com> ${1_700_000_000 + index} +0000\ndata 6\nmany ${index % 10}\n${start}M 644 inline f\ndata 1\n${index % 10}\n`
    })
    await this.#git(['fast-import', '--quiet', '--force'], lines.join(''))
    return (await this.git('rev-parse', `refs/heads/${branch}`)).trim()
  }

  /** Creates a tree of exactly these entries. */
  async folderOf(entries: readonly { mode: string; kind: string; id: string; name: string }[]): Promise<string> {
    const lines = entries.map(({ mode, kind, id, name }) => `${mode} ${kind} ${id}\t${name}\n`)
    return (await this.#git(['mktree'], lines.join(''))).trim()
  }

  /** A path that ends in @ is a symlink, whose content is its target. */
  async #tree(files: Record<string, string>): Promise<string> {
    const index = { GIT_INDEX_FILE: join(this.folder, `index-${Math.random()}`) }
    for (const [path, content] of Object.entries(files)) {
      const blob = (await this.#git(['hash-object', '-w', '--stdin'], content)).trim()
      const isLink = path.endsWith('@')
      const mode = isLink ? '120000' : path.endsWith('.sh') ? '100755' : '100644'
      await this.#git(['update-index', '--add', '--cacheinfo', `${mode},${blob},${isLink ? path.slice(0, -1) : path}`], '', index)
    }
    return (await this.#git(['write-tree'], '', index)).trim()
  }

  async #git(args: string[], input = '', env: Record<string, string> = {}): Promise<string> {
    const identity = {
      GIT_AUTHOR_NAME: 'Ann',
      GIT_AUTHOR_EMAIL: 'a@example.com',
      GIT_COMMITTER_NAME: 'Bo',
      GIT_COMMITTER_EMAIL: 'b@example.com',
    }
    const command = {
      program: 'git',
      args,
      cwd: this.folder,
      env: { ...identity, HOME: this.#home, GIT_CONFIG_NOSYSTEM: '1', ...env },
    }
    return (await this.#run(command, { timeoutMs: 90_000, maxOutputBytes: 1_000_000, input })).stdout
  }
}
