import { lstat, realpath } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import type { ComposeService, Problem } from './model.ts'

/**
 * The refusals that only the disk can tell: a path of the file that is inside the project by its name and outside by a
 * link. To be asked right before the paths are used, since a link can appear at any time.
 */
export async function findLinksOutside(services: readonly ComposeService[], folder: string): Promise<Problem[]> {
  const root = await realpath(folder)
  const found = await Promise.all(
    services.flatMap(pathsOf).map(async ({ path, field }) => {
      const real = await realpathOfExisting(join(root, path))
      const below = relative(root, real)
      const isOutside = below === '..' || below.startsWith('..') || below.startsWith('/')
      return isOutside ? [{ path: field, message: `"${path}" is a link that leads outside the project` }] : []
    }),
  )
  return found.flat()
}

function pathsOf(service: ComposeService): { path: string; field: string }[] {
  const at = `services.${service.name}`
  const { build } = service
  return [
    ...service.volumes.flatMap(({ type, source }) =>
      type === 'bind' && source !== null ? [{ path: source, field: `${at}.volumes` }] : [],
    ),
    ...service.envFiles.map(({ path }) => ({ path, field: `${at}.env_file` })),
    ...(build ? [{ path: build.context, field: `${at}.build.context` }] : []),
    ...(build?.dockerfile ? [{ path: build.dockerfile, field: `${at}.build.dockerfile` }] : []),
  ]
}

/** Where a path leads, or would lead once its missing end is made. A link to nothing counts as outside. */
async function realpathOfExisting(path: string): Promise<string> {
  try {
    return await realpath(path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'ENOENT' && code !== 'ENOTDIR') return '/'
    const isLink = await lstat(path).then(
      () => true,
      () => false,
    )
    return isLink ? '/' : realpathOfExisting(dirname(path))
  }
}
