import { allows, type Version } from '../../process/tools/version-range.ts'
import { nodeRange } from '../../process/tools/wanted-tools.ts'
import type { BuildPlan } from '../../runtime.ts'

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

const byManager: Record<string, StackName> = {
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

const byLanguage: Record<string, StackName> = {
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
  return byManager[packageManager ?? ''] ?? byLanguage[language ?? ''] ?? null
}

interface Row {
  /** Version to use if the project names none, or a range that allows it. */
  usual: string
  build(version: string, plan: BuildPlan): string
  /** Image to run in, if it differs from the build image. */
  run?(version: string): string
  /** Number of version parts in the image's tag. */
  parts: 1 | 2
}

const table: Record<StackName, Row> = {
  node: { usual: '24', parts: 1, build: (version) => `node:${version}-bookworm` },
  bun: { usual: '1', parts: 1, build: (version) => `oven/bun:${version}` },
  deno: { usual: '2', parts: 1, build: (version) => `denoland/deno:${version}` },
  python: { usual: '3.13', parts: 2, build: (version) => `python:${version}-bookworm` },
  go: { usual: '1.25', parts: 2, build: (version) => `golang:${version}-bookworm`, run: () => 'debian:bookworm-slim' },
  rust: { usual: '1', parts: 2, build: (version) => `rust:${version}-bookworm`, run: () => 'debian:bookworm-slim' },
  ruby: { usual: '3.4', parts: 2, build: (version) => `ruby:${version}-bookworm` },
  php: { usual: '8.4', parts: 2, build: (version) => `php:${version}-cli-bookworm` },
  java: { usual: '21', parts: 1, build: javaBuilder, run: (version) => `eclipse-temurin:${version}-jre` },
  dotnet: {
    usual: '9.0',
    parts: 2,
    build: (version) => `mcr.microsoft.com/dotnet/sdk:${version}`,
    run: (version) => `mcr.microsoft.com/dotnet/aspnet:${version}`,
  },
  elixir: { usual: '1.18', parts: 2, build: (version) => `elixir:${version}` },
  static: { usual: '24', parts: 1, build: (version) => `node:${version}-bookworm` },
}

/** Java build image. A project with its own build script (`./mvnw`) needs only a JDK. */
function javaBuilder(version: string, { packageManager, buildCommand }: BuildPlan): string {
  if (buildCommand?.includes('./')) return `eclipse-temurin:${version}`
  return packageManager === 'gradle' ? `gradle:jdk${version}` : `maven:3-eclipse-temurin-${version}`
}

/** Images to build in and to run in. They may be the same. */
export function baseImagesFor(stack: StackName, plan: BuildPlan, overrides: BaseImages): { build: string; run: string } {
  const row = table[stack]
  const { node } = plan.runtimeVersion
  const isOfNode = stack === 'static' || stack === 'node'
  const version = chooseVersion(isOfNode ? node && (nodeRange(node) ?? node) : plan.runtimeVersion[stack], row)
  const build = plan.buildImage ?? overrides[stack] ?? row.build(version, plan)
  const isOwn = plan.buildImage !== null || overrides[stack] !== undefined
  const run = overrides[`${stack}-run`] ?? (row.run && !isOwn ? row.run(version) : build)
  return { build, run }
}

/** `>=20` and `^20 || ^24` allow the default version, `^18` and `18.2` do not. A range that cannot be parsed is ignored. */
function chooseVersion(wanted: string | undefined, { usual, parts }: Pick<Row, 'usual' | 'parts'>): string {
  const [, operator = '', major, minor] = /^\s*([^\d]*?)\s*(\d{1,4})(?:\.(\d{1,4}))?/.exec(wanted ?? '') ?? []
  if (major === undefined || !wanted) return usual
  const isContent = allows(wanted, newestOf(usual)) ?? (operator.includes('>') && isNotAbove(major, minor, usual))
  if (isContent) return usual
  return parts === 1 || minor === undefined ? major : `${major}.${minor}`
}

/** A tag such as `3.13` stands for the newest patch release. */
function newestOf(usual: string): Version {
  const [major = 0, minor = 999_999] = usual.split('.').map(Number)
  return [major, minor, 999_999]
}

function isNotAbove(major: string, minor: string | undefined, usual: string): boolean {
  const [usualMajor = 0, usualMinor = 0] = usual.split('.').map(Number)
  return Number(major) < usualMajor || (Number(major) === usualMajor && Number(minor ?? 0) <= usualMinor)
}
