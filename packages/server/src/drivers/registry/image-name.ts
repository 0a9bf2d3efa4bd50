/** Image name as the Docker engine writes it: without Docker Hub's prefixes, with the tag. */
export function familiarName(image: string): string {
  const short = image.replace(/^(index\.)?docker\.io\//, '').replace(/^library\/(?=[^/]*$)/, '')
  return /[:@][^/]*$/.test(short) ? short : `${short}:latest`
}

/** An image id: `sha256:` and 64 hex digits, or the digits alone. */
export const isImageId = (image: string): boolean => /^(sha256:)?[0-9a-f]{64}$/.test(image.trim())

/** Registry host in an image name, or Docker Hub. */
export function registryOf(image: string): string {
  const [first = '', ...rest] = image.split('/')
  const isHost = rest.length > 0 && (/[.:]/.test(first) || first === 'localhost' || /[A-Z]/.test(first))
  return isHost ? registryName(first) : 'docker.io'
}

/** Normalizes a registry host: lower case, and Docker Hub's aliases become `docker.io`. */
export const registryName = (host: string): string => host.toLowerCase().replace(/^(index|registry-1)\.docker\.io$/, 'docker.io')

/** Image name without tag and digest, as the engine writes it: `nginx`, `ghcr.io/acme/shop`. */
export const repositoryOf = (image: string): string =>
  familiarName(image)
    .replace(/@.*$/, '')
    .replace(/:[^/:]*$/, '')

/** Digest in an image name, else null. */
export const digestIn = (image: string): string | null => /@(sha256:[0-9a-f]{64})$/.exec(image)?.[1] ?? null

/** Names to try in a registry mirror. A full Docker Hub mirror keeps official images below `library`; a manual one may not. */
export function mirrorNames(image: string, mirror: string): string[] {
  const [first = '', ...rest] = image.split('/')
  const hasRegistry = rest.length > 0 && /[.:]|^localhost$/.test(first)
  if (image.startsWith(`${mirror}/`)) return [image]
  if (hasRegistry) return [`${mirror}/${rest.join('/')}`]
  return rest.length > 0 ? [`${mirror}/${image}`] : [`${mirror}/${image}`, `${mirror}/library/${image}`]
}
