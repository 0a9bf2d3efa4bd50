import { DockerfileRefused, expandWord } from './strict-dockerfile.ts'

/** Docker's predefined platform arguments. Build and target platform are those of the engine. */
export function platformArguments(platform: string): [string, string][] {
  const [os = '', arch = ''] = platform.split('/')
  return ['TARGET', 'BUILD'].flatMap((kind): [string, string][] => [
    [`${kind}PLATFORM`, platform],
    [`${kind}OS`, os],
    [`${kind}ARCH`, arch],
  ])
}

/** Options of a FROM without the engine's own platform, because the classic builder does not know `$BUILDPLATFORM`. */
export function withoutEnginePlatform(
  flags: readonly string[],
  known: { platform: string; values: ReadonlyMap<string, string>; escapeSign: string; line: number },
): string[] {
  return flags.flatMap((flag) => {
    const written = /^--platform=(.*)$/.exec(flag)?.[1]
    if (written === undefined) return [flag]
    const platform = expandWord(written, known.values, known.escapeSign)
    if (!platform || !/^[a-z0-9]+(\/[a-z0-9]+){0,2}$/.test(platform))
      throw new DockerfileRefused(`line ${known.line}: the platform "${written.slice(0, 60)}" is not known before the build`)
    return normalizePlatform(platform) === normalizePlatform(known.platform) ? [] : [`--platform=${platform}`]
  })
}

/** Normalizes a platform: `linux/arm64/v8` and `linux/arm64` are the same. */
const normalizePlatform = (platform: string) => platform.replace(/(arm64)\/v8$/, '$1')
