import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'rolldown'
import { root } from '../programs.mjs'
import { builtinHttp } from './builtin-http.mjs'

/**
 * Imports that are not bundled: Node's own modules, and optional native code that the packages can do without. Everything else is
 * bundled, so that the result runs without node_modules. dockerode reads its .proto files only for its own build sessions, which
 * Berth does not use.
 */
const outside = [/^node:(?!http$)/, /\.node$/, 'pg-native', 'cpu-features', '@berth/server']

/** Bundles Node code with its packages: fewer files to open and less source text make start-up faster and memory smaller. */
export async function bundle(target, folder) {
  const input = Object.fromEntries(Object.entries(target.entries).filter(([, file]) => existsSync(join(root, file))))
  await build({
    cwd: root,
    input,
    platform: 'node',
    external: outside,
    plugins: [builtinHttp, serverBeside, folderNames],
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

/** The CLI loads the server from its own dist, by a relative path: the same in a clone and in the installed package. */
const serverBeside = {
  name: 'server-beside',
  renderChunk(code, { fileName }) {
    const path = `${'../'.repeat(fileName.split('/').length + 1)}server/dist/main.js`
    const relative = code.replace(/\bimport\((["'`])@berth\/server\1\)/g, `import("${path}")`)
    return relative === code ? null : { code: relative, map: null }
  },
}

/**
 * Defines `__dirname` as the bundle's folder for CommonJS packages that use it, such as ssh2. The prefix has no line break, so that
 * the lines of the source map stay correct.
 */
const folderNames = {
  name: 'folder-names',
  renderChunk: (code) => (/\b__dirname\b/.test(code) ? { code: `const __dirname=import.meta.dirname;${code}`, map: null } : null),
}
