/** Tools that the npm registry offers as packages. */
export const tools = ['node', 'npm', 'pnpm', 'yarn', 'bun', 'deno'] as const
export type Tool = (typeof tools)[number]

export interface ToolPackage {
  name: string
  /** Programs that the package does not declare: program → file of the package. */
  programs?: Readonly<Record<string, string>>
}

export interface Machine {
  platform: string
  arch: string
}

/** Architecture name in Bun's packages. */
const gnuArch = (arch: string) => (arch === 'arm64' ? 'aarch64' : arch)

/**
 * Package of a tool for this machine. Node, Bun and Deno have a package per platform, which their main package would choose
 * with an install script. Scripts are not run here.
 */
export function packageOf(tool: Tool, range: string, { platform, arch }: Machine): ToolPackage {
  if (tool === 'node') return { name: `node-${platform}-${arch}` }
  if (tool === 'bun') return { name: `@oven/bun-${platform}-${gnuArch(arch)}`, programs: { bun: 'bin/bun', bunx: 'bin/bun' } }
  if (tool === 'deno') {
    const libc = platform === 'linux' ? '-glibc' : ''
    return { name: `@deno/${platform}-${arch}${libc}`, programs: { deno: 'deno' } }
  }
  // Yarn 2 and later has another package name.
  if (tool === 'yarn' && Number(/\d+/.exec(range)?.[0] ?? 1) >= 2) return { name: '@yarnpkg/cli-dist' }
  return { name: tool }
}

/** Default version range. */
export const defaultRange: Record<Tool, string> = { node: '*', npm: '*', pnpm: '>=9 <11', yarn: '1', bun: '1', deno: '2' }

/** Product names. */
export const toolName: Record<Tool, string> = { node: 'Node', npm: 'npm', pnpm: 'pnpm', yarn: 'Yarn', bun: 'Bun', deno: 'Deno' }
