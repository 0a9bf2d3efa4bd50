import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'rolldown'
import { root } from '../programs.mjs'
import { builtinHttp } from './builtin-http.mjs'

/**
 * Not bundled: Node's own modules, two packages that read files beside their own code (dockerode its .proto files, ssh2 its
 * optional binary), optional packages that are not installed, and the server, which the CLI starts from its own dist.
 */
const outside = [/^node:(?!http$)/, 'dockerode', 'ssh2', 'pg-native', 'cpu-features', /^@berth\/server(\/|$)/]

/** Bundles Node code with its packages: fewer files to open and less source text make start-up faster and memory smaller. */
export async function bundle(target, folder) {
  const input = Object.fromEntries(Object.entries(target.entries).filter(([, file]) => existsSync(join(root, file))))
  await build({
    cwd: root,
    input,
    platform: 'node',
    external: outside,
    plugins: [builtinHttp],
    logLevel: 'warn',
    onLog(level, log, print) {
      // Warnings of packages are not ours to fix.
      if (level === 'warn' && (log.id ?? log.loc?.file ?? '').includes('node_modules')) return
      print(level, log)
    },
    output: {
      dir: folder,
      format: 'esm',
      sourcemap: true,
      entryFileNames: '[name].js',
      chunkFileNames: 'chunks/[name]-[hash].js',
      // Names are kept: a stack trace must tell where it comes from, and some packages read a constructor's name.
      minify: { compress: true, mangle: false, codegen: true },
    },
  })
}
