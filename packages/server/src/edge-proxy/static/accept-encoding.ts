export type Encoding = 'br' | 'zstd' | 'gzip'

/** The edge's order of preference: the smallest output at a fast compression level first. */
const preferred: readonly Encoding[] = ['br', 'zstd', 'gzip']
export const suffixes: Record<Encoding, string> = { br: '.br', zstd: '.zst', gzip: '.gz' }

/** Encodings that the client accepts, by its preference, then by the edge's. */
export function acceptedEncodings(header: string | undefined): Encoding[] {
  if (!header) return []
  const weights = new Map<string, number>()
  for (const part of header.toLowerCase().split(',')) {
    const [name, ...parameters] = part.split(';').map((text) => text.trim())
    const weight = parameters.find((parameter) => parameter.startsWith('q='))
    const value = weight === undefined ? 1 : Number(weight.slice(2))
    if (name) weights.set(name, Number.isNaN(value) ? 0 : value)
  }
  const weightOf = (encoding: Encoding) => weights.get(encoding) ?? weights.get('*') ?? 0
  return preferred.filter((encoding) => weightOf(encoding) > 0).sort((a, b) => weightOf(b) - weightOf(a))
}
