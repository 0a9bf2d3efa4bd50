import { allows, type Version } from '../../process/tools/version-range.ts'
import { nodeRange } from '../../process/tools/wanted-tools.ts'
import type { BuildPlan } from '../../runtime.ts'

/** What a project is made of, as far as images go. */
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

/** Images to use instead of the table's own; `go-run` is what Go's programs run in after they were built. */
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

/** Null where nothing says what the project is written in. */
export function stackOf({ language, packageManager }: Pick<BuildPlan, 'language' | 'packageManager'>): StackName | null {
  return byManager[packageManager ?? ''] ?? byLanguage[language ?? ''] ?? null
}

interface Row {
  /** The version where the project asks for none, or only for a least one. */
  usual: string
  build(version: string, plan: BuildPlan): string
  /** Where it runs, when that is another image. */
  run?(version: string): string
  /** How many parts of a version are in the image's tag. */
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

/** A project that brings its build tool along needs only the language. */
function javaBuilder(version: string, { packageManager, buildCommand }: BuildPlan): string {
  if (buildCommand?.includes('./')) return `eclipse-temurin:${version}`
  return packageManager === 'gradle' ? `gradle:jdk${version}` : `maven:3-eclipse-temurin-${version}`
}

/** Where it is built, and where it runs; one image where both are the same. */
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

/** `>=20` and `^20 || ^24` are content with the usual one, `^18` and `18.2` are not. What cannot be read counts as not said. */
function chooseVersion(wanted: string | undefined, { usual, parts }: Pick<Row, 'usual' | 'parts'>): string {
  const [, operator = '', major, minor] = /^\s*([^\d]*?)\s*(\d{1,4})(?:\.(\d{1,4}))?/.exec(wanted ?? '') ?? []
  if (major === undefined || !wanted) return usual
  const isContent = allows(wanted, newestOf(usual)) ?? (operator.includes('>') && isNotAbove(major, minor, usual))
  if (isContent) return usual
  return parts === 1 || minor === undefined ? major : `${major}.${minor}`
}

/** An image without the last numbers in its name has the newest of them. */
function newestOf(usual: string): Version {
  const [major = 0, minor = 999_999] = usual.split('.').map(Number)
  return [major, minor, 999_999]
}

function isNotAbove(major: string, minor: string | undefined, usual: string): boolean {
  const [usualMajor = 0, usualMinor = 0] = usual.split('.').map(Number)
  return Number(major) < usualMajor || (Number(major) === usualMajor && Number(minor ?? 0) <= usualMinor)
}
