const unitPowers: Record<string, number> = { '': 0, b: 0, k: 1, m: 2, g: 3, t: 4 }

/** Bytes of `512m`, `1.5g`, `2GB`, `64 MiB` or a bare number; `null` for anything else. */
export function parseBytes(text: string): number | null {
  const match = /^(\d+(?:\.\d+)?) ?([bkmgt]?)(?:i?b)?$/i.exec(text.trim())
  if (!match) return null
  const bytes = Number(match[1]) * 1024 ** unitPowers[match[2]!.toLowerCase()]!
  return Number.isSafeInteger(Math.ceil(bytes)) ? Math.ceil(bytes) : null
}

const secondsOf: Record<string, number> = { h: 3600, m: 60, s: 1, ms: 1e-3, us: 1e-6, µs: 1e-6, ns: 1e-9 }

/** Seconds of `1m30s`, `500ms`, `2h` or a bare number; `null` for anything else. */
export function parseSeconds(text: string): number | null {
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text)
  if (!/^(\d+(\.\d+)?(h|ms|m|us|µs|ns|s))+$/.test(text)) return null
  let total = 0
  for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d+)?)(h|ms|m|us|µs|ns|s)/g)) total += Number(amount) * secondsOf[unit!]!
  return Math.round(total * 1e6) / 1e6
}
