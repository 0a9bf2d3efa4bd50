/** An image's name as the engine itself writes it: without the hub's own prefixes, with the tag. */
export function familiarName(image: string): string {
  const short = image.replace(/^(index\.)?docker\.io\//, '').replace(/^library\/(?=[^/]*$)/, '')
  return /[:@][^/]*$/.test(short) ? short : `${short}:latest`
}

/** `sha256:` and 64 digits, or the digits alone. */
export const isImageId = (image: string): boolean => /^(sha256:)?[0-9a-f]{64}$/.test(image.trim())

/** The host in the name, or the hub. */
export function registryOf(image: string): string {
  const [first = '', ...rest] = image.split('/')
  const isHost = rest.length > 0 && (/[.:]/.test(first) || first === 'localhost' || /[A-Z]/.test(first))
  return isHost ? registryName(first) : 'docker.io'
}

/** One spelling of a registry's host. */
export const registryName = (host: string): string => host.toLowerCase().replace(/^(index|registry-1)\.docker\.io$/, 'docker.io')

/** The name without tag and digest, as the engine writes it: `nginx`, `ghcr.io/acme/shop`. */
export const repositoryOf = (image: string): string =>
  familiarName(image)
    .replace(/@.*$/, '')
    .replace(/:[^/:]*$/, '')

/** The digest in a name, else null. */
export const digestIn = (image: string): string | null => /@(sha256:[0-9a-f]{64})$/.exec(image)?.[1] ?? null

/** An official image lies below `library` in a mirror of the whole hub, and directly in one made by hand. */
export function mirrored(image: string, mirror: string): string[] {
  const [first = '', ...rest] = image.split('/')
  const hasRegistry = rest.length > 0 && /[.:]|^localhost$/.test(first)
  if (image.startsWith(`${mirror}/`)) return [image]
  if (hasRegistry) return [`${mirror}/${rest.join('/')}`]
  return rest.length > 0 ? [`${mirror}/${image}`] : [`${mirror}/${image}`, `${mirror}/library/${image}`]
}
