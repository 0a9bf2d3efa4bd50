/** An image's name as the engine itself writes it: without the hub's own prefixes, with the tag. */
export function familiarName(image: string): string {
  const short = image.replace(/^(index\.)?docker\.io\//, '').replace(/^library\/(?=[^/]*$)/, '')
  return /[:@][^/]*$/.test(short) ? short : `${short}:latest`
}

/** `sha256:` and 64 digits, or the digits alone. */
export const isImageId = (image: string): boolean => /^(sha256:)?[0-9a-f]{64}$/.test(image.trim())
