import type { BuildPlan } from '../../build-plan.ts'
import { allows, type Version } from '../../process/tools/version-range.ts'
import { nodeRange } from '../../process/tools/wanted-tools.ts'

/** Stacks with base images of their own. */
export const stacks = [
  'node',
  'bun',
  'deno',
  'python',
  'go',
  'rust',
  'ruby',
  'php',
  'java',
  'dotnet',
  'elixir',
  'static',
] as const
export type StackName = (typeof stacks)[number]

/** Images to use instead of those in the table. `go-run` is the image that Go programs run in after the build. */
export type BaseImages = Readonly<Partial<Record<string, string>>>

const stackByPackageManager: Record<string, StackName> = {
  npm: 'node',
  pnpm: 'node',
  yarn: 'node',
  bun: 'bun',
  deno: 'deno',
  go: 'go',
  cargo: 'rust',
  bundler: 'ruby',
  composer: 'php',
  maven: 'java',
  gradle: 'java',
  nuget: 'dotnet',
  mix: 'elixir',
}

const stackByLanguage: Record<string, StackName> = {
  javascript: 'node',
  typescript: 'node',
  python: 'python',
  go: 'go',
  rust: 'rust',
  ruby: 'ruby',
  php: 'php',
  java: 'java',
  kotlin: 'java',
  csharp: 'dotnet',
  fsharp: 'dotnet',
  visualbasic: 'dotnet',
  elixir: 'elixir',
  html: 'static',
}

/** Stack of a plan. Null if the language is unknown. */
export function stackOf({ language, packageManager }: Pick<BuildPlan, 'language' | 'packageManager'>): StackName | null {
  return stackByPackageManager[packageManager ?? ''] ?? stackByLanguage[language ?? ''] ?? null
}

interface StackImages {
  /** Version to use if the project names none, or a range that allows it. */
  defaultVersion: string
  buildImage(version: string, plan: BuildPlan): string
  /** Image to run in, if it differs from the build image. */
  runImage?(version: string): string
  /** Number of version parts in the image's tag. */
  versionParts: 1 | 2
}

const imagesByStack: Record<StackName, StackImages> = {
  node: { defaultVersion: '24', versionParts: 1, buildImage: (version) => `node:${version}-bookworm` },
  bun: { defaultVersion: '1', versionParts: 1, buildImage: (version) => `oven/bun:${version}` },
  deno: { defaultVersion: '2', versionParts: 1, buildImage: (version) => `denoland/deno:${version}` },
  python: { defaultVersion: '3.13', versionParts: 2, buildImage: (version) => `python:${version}-bookworm` },
  go: {
    defaultVersion: '1.25',
    versionParts: 2,
    buildImage: (version) => `golang:${version}-bookworm`,
    runImage: () => 'debian:bookworm-slim',
  },
  rust: {
    defaultVersion: '1',
    versionParts: 2,
    buildImage: (version) => `rust:${version}-bookworm`,
    runImage: () => 'debian:bookworm-slim',
  },
  ruby: { defaultVersion: '3.4', versionParts: 2, buildImage: (version) => `ruby:${version}-bookworm` },
  php: { defaultVersion: '8.4', versionParts: 2, buildImage: (version) => `php:${version}-cli-bookworm` },
  java: {
    defaultVersion: '21',
    versionParts: 1,
    buildImage: javaBuildImage,
    runImage: (version) => `eclipse-temurin:${version}-jre`,
  },
  dotnet: {
    defaultVersion: '9.0',
    versionParts: 2,
    buildImage: (version) => `mcr.microsoft.com/dotnet/sdk:${version}`,
    runImage: (version) => `mcr.microsoft.com/dotnet/aspnet:${version}`,
  },
  elixir: { defaultVersion: '1.18', versionParts: 2, buildImage: (version) => `elixir:${version}` },
  static: { defaultVersion: '24', versionParts: 1, buildImage: (version) => `node:${version}-bookworm` },
}

/** Java build image. A project with its own build script (`./mvnw`) needs only a JDK. */
function javaBuildImage(version: string, { packageManager, buildCommand }: BuildPlan): string {
  if (buildCommand?.includes('./')) return `eclipse-temurin:${version}`
  return packageManager === 'gradle' ? `gradle:jdk${version}` : `maven:3-eclipse-temurin-${version}`
}

/** Images to build in and to run in. They may be the same. */
export function baseImagesFor(stack: StackName, plan: BuildPlan, overrides: BaseImages): { build: string; run: string } {
  const row = imagesByStack[stack]
  const { node } = plan.runtimeVersion
  const usesNodeVersion = stack === 'static' || stack === 'node'
  const version = chooseVersion(usesNodeVersion ? node && (nodeRange(node) ?? node) : plan.runtimeVersion[stack], row)
  const build = plan.buildImage ?? overrides[stack] ?? row.buildImage(version, plan)
  const isCustomBuildImage = plan.buildImage !== null || overrides[stack] !== undefined
  const run = overrides[`${stack}-run`] ?? (row.runImage && !isCustomBuildImage ? row.runImage(version) : build)
  return { build, run }
}

/** `>=20` and `^20 || ^24` allow the default version, `^18` and `18.2` do not. A range that cannot be parsed is ignored. */
function chooseVersion(
  wanted: string | undefined,
  { defaultVersion, versionParts }: Pick<StackImages, 'defaultVersion' | 'versionParts'>,
): string {
  const [, operator = '', major, minor] = /^\s*([^\d]*?)\s*(\d{1,4})(?:\.(\d{1,4}))?/.exec(wanted ?? '') ?? []
  if (major === undefined || !wanted) return defaultVersion
  const isDefaultAllowed =
    allows(wanted, newestReleaseOf(defaultVersion)) ?? (operator.includes('>') && isAtMost(major, minor, defaultVersion))
  if (isDefaultAllowed) return defaultVersion
  return versionParts === 1 || minor === undefined ? major : `${major}.${minor}`
}

/** A tag such as `3.13` stands for the newest patch release. */
function newestReleaseOf(defaultVersion: string): Version {
  const [major = 0, minor = 999_999] = defaultVersion.split('.').map(Number)
  return [major, minor, 999_999]
}

function isAtMost(major: string, minor: string | undefined, limit: string): boolean {
  const [limitMajor = 0, limitMinor = 0] = limit.split('.').map(Number)
  return Number(major) < limitMajor || (Number(major) === limitMajor && Number(minor ?? 0) <= limitMinor)
}
