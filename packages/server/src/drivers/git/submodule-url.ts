/**
 * Resolves the address of a submodule. `./` and `../` are relative to the repository that names it, as in git. An ssh address
 * at the host of a repository that is fetched by https is fetched by https, too: the available credential is for https only.
 */
export function submoduleUrl(written: string, parent: string): string {
  if (/^\.\.?\//.test(written)) return relative(written, parent)
  const base = /^https?:\/\//i.test(parent) ? URL.parse(parent) : null
  const [, sshHost, sshPath] = /^(?:ssh:\/\/)?[^@/\s]+@([^:/\s]+)(?::\d+)?[:/](.+)$/.exec(written) ?? []
  if (base && sshHost?.toLowerCase() === base.hostname && sshPath) return `${base.origin}/${sshPath.replace(/^\/+/, '')}`
  return written
}

function relative(written: string, parent: string): string {
  const base = parent.replace(/\/+$/, '')
  if (base.includes('://')) {
    const found = URL.parse(written, `${base}/`)
    return found ? found.href : written
  }
  const colon = base.indexOf(':')
  const { pathname } = new URL(written, `http://host/${base.slice(colon + 1)}/`)
  return `${base.slice(0, colon)}:${pathname.slice(1)}`
}
