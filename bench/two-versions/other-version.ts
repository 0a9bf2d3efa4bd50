import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import type { startBerth as StartBerth } from '../../tests/kit/start-berth.ts'
import { type TempFolder, tempFolder } from '../../tests/kit/temp-folder.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '..', '..')

export interface OtherVersion extends AsyncDisposable {
  commit: string
  startBerth: typeof StartBerth
}

/** Checks a commit out into a temporary folder and builds it there, with the packages that this tree has installed. */
export async function buildVersion(commit: string): Promise<OtherVersion> {
  const folder: TempFolder = await tempFolder('version')
  const tree = join(folder.path, 'tree')
  try {
    await run('git', ['clone', '--quiet', '--shared', '--no-checkout', root, tree])
    await run('git', ['-C', tree, 'checkout', '--quiet', '--detach', commit])
    for (const name of ['.', 'packages/cli', 'packages/server', 'packages/contract', 'packages/dashboard']) {
      const modules = join(root, name, 'node_modules')
      if (existsSync(modules)) await run('/bin/cp', ['-a', modules, join(tree, name)])
    }
    await run(process.execPath, [join(tree, 'scripts/build.mjs')], { cwd: tree, maxBuffer: 1e8 })
    const { startBerth } = (await import(pathToFileURL(join(tree, 'tests/kit/start-berth.ts')).href)) as {
      startBerth: typeof StartBerth
    }
    return { commit, startBerth, [Symbol.asyncDispose]: () => folder.remove() }
  } catch (error) {
    await folder.remove()
    throw error
  }
}
