const units = ['B', 'kB', 'MB', 'GB', 'TB']

/** `1.2 MB`, with powers of 1000 and a non-breaking space. */
export function sizeText(bytes: number | null | undefined): string {
  if (bytes === null || bytes === undefined) return '–'
  let size = bytes
  let at = 0
  while (size >= 1000 && at < units.length - 1) {
    size /= 1000
    at++
  }
  return `${at === 0 || size >= 100 ? Math.round(size) : size.toFixed(1)}\u00a0${units[at]}`
}

export const numberText = (value: number): string => value.toLocaleString('en')

export const plural = (count: number, one: string, many = `${one}s`): string => `${numberText(count)} ${count === 1 ? one : many}`
