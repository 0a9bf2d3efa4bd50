import { DockerfileRefused, expandWord } from './strict-dockerfile.ts'

/** Docker's own, of the machine that builds: nothing is built here for another. */
export function argumentsOf(platform: string): [string, string][] {
  const [os = '', arch = ''] = platform.split('/')
  return ['TARGET', 'BUILD'].flatMap((kind): [string, string][] => [
    [`${kind}PLATFORM`, platform],
    [`${kind}OS`, os],
    [`${kind}ARCH`, arch],
  ])
}

/** The options of a FROM. What the engine builds for anyway need not be said: the classic builder does not know `$BUILDPLATFORM`. */
export function withoutOwnPlatform(
  flags: readonly string[],
  known: { platform: string; values: ReadonlyMap<string, string>; escapeSign: string; line: number },
): string[] {
  return flags.flatMap((flag) => {
    const written = /^--platform=(.*)$/.exec(flag)?.[1]
    if (written === undefined) return [flag]
    const platform = expandWord(written, known.values, known.escapeSign)
    if (!platform || !/^[a-z0-9]+(\/[a-z0-9]+){0,2}$/.test(platform))
      throw new DockerfileRefused(`line ${known.line}: the platform "${written.slice(0, 60)}" is not known before the build`)
    return usual(platform) === usual(known.platform) ? [] : [`--platform=${platform}`]
  })
}

/** `linux/arm64/v8` is what every arm64 is. */
const usual = (platform: string) => platform.replace(/(arm64)\/v8$/, '$1')
