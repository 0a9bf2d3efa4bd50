/** An image's name as the engine itself writes it: without the hub's own prefixes, with the tag. */
export function familiarName(image: string): string {
  const short = image.replace(/^(index\.)?docker\.io\//, '').replace(/^library\/(?=[^/]*$)/, '')
  return /[:@][^/]*$/.test(short) ? short : `${short}:latest`
}
