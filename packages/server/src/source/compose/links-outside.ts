import { lstat, realpath } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { leadsOutside } from '../leads-outside.ts'
import type { ComposeService, Problem } from './model.ts'

/**
 * Finds paths that leave the project through a symlink, which only the disk shows. Call right before the paths are used, since a
 * symlink can appear at any time.
 */
export async function findLinksOutside(services: readonly ComposeService[], folder: string): Promise<Problem[]> {
  const root = await realpath(folder)
  const found = await Promise.all(
    services.flatMap(pathsOf).map(async ({ path, field }) => {
      const realPath = await realpathOfExisting(join(root, path))
      return leadsOutside(relative(root, realPath))
        ? [{ path: field, message: `"${path}" is a link that leads outside the project` }]
        : []
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

/** The real path, or what it would be once the missing part is created. A dangling symlink counts as outside. */
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
