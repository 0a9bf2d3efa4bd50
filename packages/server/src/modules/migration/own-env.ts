import type { ReadContainer, ReadImage } from '../../drivers/runtime/server/server-reader.ts'

export function pairsOf(env: readonly string[]): Map<string, string> {
  return new Map(
    env.map((pair) => {
      const equalsIndex = pair.indexOf('=')
      return equalsIndex < 0 ? [pair, ''] : [pair.slice(0, equalsIndex), pair.slice(equalsIndex + 1)]
    }),
  )
}

/** Variables set on the container itself, without those that equal the image's. */
export function ownEnv({ env }: Pick<ReadContainer, 'env'>, image: Pick<ReadImage, 'env'> | undefined): Map<string, string> {
  const ofImage = pairsOf(image?.env ?? [])
  return new Map([...pairsOf(env)].filter(([key, value]) => ofImage.get(key) !== value))
}
