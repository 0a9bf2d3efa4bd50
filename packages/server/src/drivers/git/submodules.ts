import { realpath } from 'node:fs/promises'
import { join } from 'node:path'
import type { FilledTree, Settings, Tree } from './checkout-settings.ts'
import { GitError, GitTooLarge } from './git-errors.ts'
import type { RemoteAddress } from './remote.ts'
import { submoduleUrl } from './submodule-url.ts'

interface Submodule {
  path: string
  commit: string
}

const maxDepth = 5

/**
 * Fetches the submodules of a commit, each at exactly the commit that is named. The author of the commit chose their addresses,
 * so each is checked like the repository's own, and gets a credential only if `credentialFor` returns one.
 */
export async function fetchSubmodules(
  tree: Tree,
  submodules: readonly Submodule[],
  fill: (settings: Settings, gitFolder: string, workTree: string) => Promise<FilledTree>,
): Promise<Omit<FilledTree, 'commit'>[]> {
  if (submodules.length === 0) return []
  if (tree.level >= maxDepth) throw new GitTooLarge(`Submodules are nested more than ${maxDepth} deep`)
  const urls = await readUrls(tree)
  const filled: Omit<FilledTree, 'commit'>[] = []
  for (const submodule of submodules) {
    if (--tree.remaining.submodules < 0) throw new GitTooLarge('The repository has too many submodules')
    const { path } = submodule
    const written = urls.get(path)
    if (written === undefined) {
      filled.push({ links: [], warnings: [`The submodule ${path} is left empty: .gitmodules has no address for it`] })
      continue
    }
    const { links, warnings } = await fetchSubmodule(tree, submodule, written, fill).catch((error: unknown) => {
      if (error instanceof GitError && !(error instanceof GitTooLarge))
        throw new GitError(`The submodule ${path} could not be fetched: ${error.message}`, error.detail)
      throw error
    })
    filled.push({ links: links.map((link) => `${path}/${link}`), warnings })
  }
  return filled
}

async function fetchSubmodule(
  tree: Tree,
  { path, commit }: Submodule,
  written: string,
  fill: (settings: Settings, gitFolder: string, workTree: string) => Promise<FilledTree>,
): Promise<FilledTree> {
  const { git, options } = tree
  const address: RemoteAddress = git.parse(submoduleUrl(written, tree.url))
  options.onProgress?.(`Fetching the submodule ${path} from ${address.shown}`)
  const workTree = join(await realpath(tree.workTree), path)
  // git creates the empty folder; a symlink in its place or on its path would lead outside.
  if ((await realpath(workTree).catch(() => '')) !== workTree) throw new GitError('its folder is a link')
  const credential = await options.credentialFor?.(address.url)
  const settings: Settings = {
    ...tree,
    remote: { url: address.url, ...(credential ? { credential } : {}) },
    url: address.url,
    wanted: { commit },
    level: tree.level + 1,
  }
  return fill(settings, join(tree.gitFolder, 'berth', String(tree.remaining.submodules), '.git'), workTree)
}

/** Path to address, as git itself parses the file. All other settings in it are ignored. */
async function readUrls({ run, commit }: Tree): Promise<Map<string, string>> {
  const args = ['config', '--blob', `${commit}:.gitmodules`, '--null', '--list']
  const { stdout, exitCode } = await run({ args, acceptExitCodes: [0, 1, 128], maxOutputBytes: 1_000_000 })
  const found = new Map<string, { path?: string; url?: string }>()
  for (const entry of exitCode === 0 ? stdout.split('\0') : []) {
    const [, name, key, value] = /^submodule\.(.*)\.(path|url)\n(.*)$/s.exec(entry) ?? []
    if (name !== undefined) found.set(name, { ...found.get(name), [key as 'path' | 'url']: value })
  }
  return new Map([...found.values()].flatMap(({ path, url }) => (path && url ? [[path, url] as const] : [])))
}
