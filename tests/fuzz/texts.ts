import type { Random } from './random.ts'

/** A text as a stranger would write it: pieces that mean something, put together any way, some of them very often. */
export function hostileText(random: Random, pieces: readonly string[], atMost = 60): string {
  const parts = random.some(atMost, () => piece(random, pieces))
  if (random.chance(0.15)) {
    const often = random.some(3, () => random.pick(pieces)).join('') || random.pick(pieces)
    parts.splice(random.below(parts.length + 1), 0, often.repeat(1 + random.below(random.chance(0.2) ? 20_000 : 300)))
  }
  return parts.join('').slice(0, 200_000)
}

function piece(random: Random, pieces: readonly string[]): string {
  if (random.chance(0.05)) return String.fromCharCode(random.below(random.chance(0.5) ? 128 : 65_536))
  if (random.chance(0.05)) return random.pick(['\n', ' ', '\t', '\r\n', '\0', '\uFEFF', '💥']).repeat(1 + random.below(20))
  return random.pick(pieces)
}
