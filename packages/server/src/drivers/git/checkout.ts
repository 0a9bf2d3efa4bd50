import { mkdir, readlink, realpath, rm } from 'node:fs/promises'
import { dirname, join, resolve, sep } from 'node:path'
import { stageFolder } from '../folder/staged-folder.ts'
import {
  type CheckoutOptions,
  checkoutDefaults,
  type FilledTree,
  maxSubmodules,
  remainingMs,
  type Settings,
} from './checkout-settings.ts'
import { GitError, GitNotFound, GitTooLarge } from './git-errors.ts'
import type { History } from './history.ts'
import { fetchLargeFiles } from './large-files.ts'
import { branchRef } from './refs.ts'
import type { GitRemote } from './remote.ts'
import { type GitCall, type SafeGit, withoutCredentials } from './safe-git.ts'
import { fetchSubmodules } from './submodules.ts'
import { folderBytes, listTree } from './tree-content.ts'

export interface Checkout {
  commit: string
  /** Symlinks that point outside the folder: they must not be followed on the project's behalf. */
  linksOutside: string[]
  warnings: string[]
}

/** Checks out exactly that commit into `intoFolder`, which must be missing or empty; on a failure nothing is left behind. */
export async function checkout(
  parts: { git: SafeGit; history: History },
  remote: GitRemote,
  wanted: { branch?: string; commit?: string },
  intoFolder: string,
  requested: CheckoutOptions = {},
): Promise<Checkout> {
  const options = { ...checkoutDefaults, ...requested }
  const settings: Settings = {
    ...parts,
    remote,
    url: parts.git.address(remote).url,
    wanted,
    options,
    deadline: performance.now() + options.timeoutMs,
    remaining: { bytes: options.maxBytes, files: options.maxFiles, submodules: maxSubmodules },
    level: 0,
  }
  return stageFolder(intoFolder, (staging) => fillFolder(settings, staging))
}

async function fillFolder(settings: Settings, staging: string): Promise<Checkout> {
  const gitFolder = join(staging, '.git')
  const { commit, links, warnings } = await fillTree(settings, gitFolder, staging)
  if (!settings.options.keepGitFolder) await rm(gitFolder, { recursive: true, force: true })
  return { commit, linksOutside: await linksOutside(staging, links), warnings }
}

/** Checks out one commit, and below it the submodules that it names. */
async function fillTree(settings: Settings, gitFolder: string, workTree: string): Promise<FilledTree> {
  const { remaining } = settings
  const commit = await fetchCommit(settings, gitFolder)
  const run = (call: Omit<GitCall, 'timeoutMs'>) => runLocal(settings, gitFolder, call)
  const content = await listTree(run, commit, { maxBytes: remaining.bytes, maxFiles: remaining.files })
  remaining.bytes -= content.bytes
  remaining.files -= content.files
  await run({ args: ['checkout', '--quiet', '--force', '--detach', commit, '--'], workTree })
  const tree = { ...settings, gitFolder, workTree, commit, run }
  const warnings = await fetchLargeFiles(tree)
  const links = [...content.links]
  for (const inner of await fetchSubmodules(tree, content.submodules, fillTree)) {
    links.push(...inner.links)
    warnings.push(...inner.warnings)
  }
  return { commit, links, warnings }
}

async function fetchCommit(settings: Settings, gitFolder: string): Promise<string> {
  const { history, remote, wanted, options } = settings
  await mkdir(dirname(gitFolder), { recursive: true })
  await runLocal(settings, gitFolder, { args: ['init', '--quiet', '--template=', '--', dirname(gitFolder)] })
  if (wanted.commit === undefined) return fetchRef(settings, gitFolder, branchRef(wanted.branch))
  const commit = await history.fullCommitId(remote, wanted.commit, wanted.branch, {
    abort: options.abort,
    timeoutMs: remainingMs(settings),
  })
  try {
    return await fetchRef(settings, gitFolder, commit)
  } catch (error) {
    if (!isUnadvertised(error)) throw error
    if (options.ref && settings.level === 0) return fetchRefAt(settings, gitFolder, options.ref, commit)
    return fetchAllBranches(settings, gitFolder, commit)
  }
}

/** Old servers serve only the newest commit of each branch by its id. */
const isUnadvertised = (error: unknown) => error instanceof GitError && /unadvertised object/i.test(error.detail)

async function fetchRef(settings: Settings, gitFolder: string, ref: string): Promise<string> {
  await runFetch(settings, gitFolder, [`--depth=${settings.options.depth}`, '--', settings.url, `+${ref}:refs/berth/wanted`])
  return (await runLocal(settings, gitFolder, { args: ['rev-parse', '--verify', 'refs/berth/wanted^{commit}'] })).stdout.trim()
}

/** Fetches a ref and requires that it still points to the commit. */
async function fetchRefAt(settings: Settings, gitFolder: string, ref: string, commit: string): Promise<string> {
  const found = await fetchRef(settings, gitFolder, ref)
  const { shown } = settings.git.address(settings.remote)
  if (found !== commit) throw new GitNotFound('commit', `${ref} of ${shown} no longer points to the commit ${commit}`)
  return commit
}

async function fetchAllBranches(settings: Settings, gitFolder: string, commit: string): Promise<string> {
  await runFetch(settings, gitFolder, ['--', settings.url, '+refs/heads/*:refs/berth/heads/*'])
  const args = ['cat-file', '-e', `${commit}^{commit}`]
  const { exitCode } = await runLocal(settings, gitFolder, { args, acceptExitCodes: [0, 1, 128] })
  if (exitCode !== 0) throw new GitNotFound('commit', `${settings.git.address(settings.remote).shown} has no commit ${commit}`)
  return commit
}

async function runFetch(settings: Settings, gitFolder: string, args: string[]): Promise<void> {
  const { git, remote, options } = settings
  const tooLarge = new AbortController()
  const watch = setInterval(async () => {
    const bytes = await folderBytes(join(gitFolder, 'objects', 'pack'))
    if (bytes > options.maxBytes) tooLarge.abort()
  }, 500)
  const abort = AbortSignal.any([tooLarge.signal, ...(options.abort ? [options.abort] : [])])
  const fetchArgs = ['fetch', '--no-tags', '--no-write-fetch-head', '--progress', ...args]
  try {
    await git.run({
      args: fetchArgs,
      remote,
      gitFolder,
      abort,
      timeoutMs: remainingMs(settings),
      onStderr: progressLines(remote, options.onProgress),
    })
  } catch (error) {
    if (tooLarge.signal.aborted && !options.abort?.aborted) throw tooLargeError(settings)
    throw error
  } finally {
    clearInterval(watch)
  }
  if ((await folderBytes(join(gitFolder, 'objects', 'pack'))) > options.maxBytes) throw tooLargeError(settings)
}

const tooLargeError = ({ git, remote, options }: Settings) =>
  new GitTooLarge(`${git.address(remote).shown} is larger than ${Math.round(options.maxBytes / 1_000_000)} MB`)

function runLocal(settings: Settings, gitFolder: string, call: Omit<GitCall, 'timeoutMs'>) {
  return settings.git.run({ ...call, gitFolder, abort: settings.options.abort, timeoutMs: remainingMs(settings) })
}

/** A progress meter redraws its line with carriage returns; each redraw becomes a line here. The server writes some of them. */
function progressLines(remote: GitRemote, receive: CheckoutOptions['onProgress']): ((chunk: Uint8Array) => void) | undefined {
  if (!receive) return undefined
  const decoder = new TextDecoder()
  let rest = ''
  return (chunk) => {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split(/[\r\n]+/)
    rest = (parts.pop() ?? '').slice(-10_000)
    for (const line of parts) if (line.trim() !== '') receive(withoutCredentials(line.trim(), remote))
  }
}

async function linksOutside(folder: string, links: readonly string[]): Promise<string[]> {
  const root = await realpath(folder)
  const outside: string[] = []
  for (const link of links) {
    const path = join(root, link)
    // A dangling symlink is validated by its target text.
    const target = await realpath(path).catch(async () => resolve(dirname(path), await readlink(path).catch(() => '.')))
    if (target !== root && !target.startsWith(root + sep)) outside.push(link)
  }
  return outside
}
