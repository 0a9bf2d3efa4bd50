/** Tools that come as packages of the npm registry. */
export const tools = ['node', 'npm', 'pnpm', 'yarn', 'bun', 'deno'] as const
export type Tool = (typeof tools)[number]

export interface ToolPackage {
  name: string
  /** Programs that the package itself does not name: program → file of the package. */
  programs?: Readonly<Record<string, string>>
}

export interface Machine {
  platform: string
  arch: string
}

/** As the makers of Bun and Deno call it. */
const gnuArch = (arch: string) => (arch === 'arm64' ? 'aarch64' : arch)

/**
 * The package that holds a tool for this machine. Those of Node, Bun and Deno are the ones that their own packages would choose
 * by a script of their own, which is not run here.
 */
export function packageOf(tool: Tool, range: string, { platform, arch }: Machine): ToolPackage {
  if (tool === 'node') return { name: `node-${platform}-${arch}` }
  if (tool === 'bun') return { name: `@oven/bun-${platform}-${gnuArch(arch)}`, programs: { bun: 'bin/bun', bunx: 'bin/bun' } }
  if (tool === 'deno') {
    const libc = platform === 'linux' ? '-glibc' : ''
    return { name: `@deno/${platform}-${arch}${libc}`, programs: { deno: 'deno' } }
  }
  // From 2 on Yarn goes by another name there.
  if (tool === 'yarn' && Number(/\d+/.exec(range)?.[0] ?? 1) >= 2) return { name: '@yarnpkg/cli-dist' }
  return { name: tool }
}

/** Where the project names no version. */
export const usualRange: Record<Tool, string> = { node: '*', npm: '*', pnpm: '>=9 <11', yarn: '1', bun: '1', deno: '2' }

/** How people call it. */
export const toolName: Record<Tool, string> = { node: 'Node', npm: 'npm', pnpm: 'pnpm', yarn: 'Yarn', bun: 'Bun', deno: 'Deno' }
