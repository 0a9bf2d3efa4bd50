import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'rolldown'
import { root } from '../programs.mjs'
import { builtinHttp } from './builtin-http.mjs'

/**
 * Left outside the bundle: Node's own modules, two packages that read files beside their own code (dockerode its .proto files,
 * ssh2 its optional binary), optional parts that are not installed, and the server, which the CLI starts from its own dist.
 */
const outside = [/^node:(?!http$)/, 'dockerode', 'ssh2', 'pg-native', 'cpu-features', /^@berth\/server(\/|$)/]

/** One bundle of Node code with its packages inside: fewer files to open and less source to keep is what start-up and memory cost. */
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
      // A package's own oddities are not ours to mend.
      if (level === 'warn' && (log.id ?? log.loc?.file ?? '').includes('node_modules')) return
      print(level, log)
    },
    output: {
      dir: folder,
      format: 'esm',
      sourcemap: true,
      entryFileNames: '[name].js',
      chunkFileNames: 'chunks/[name]-[hash].js',
      // Names stay: a stack trace must tell where it comes from, and some packages look at a constructor's name.
      minify: { compress: true, mangle: false, codegen: true },
    },
  })
}
