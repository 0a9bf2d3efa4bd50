import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build } from 'vite'
import { root } from '../programs.mjs'

export async function buildDashboard(target, folder) {
  await build({
    root: join(root, target.folder),
    configFile: join(root, target.entries.main),
    logLevel: 'warn',
    build: { outDir: folder, emptyOutDir: true },
  })
  compress(join(folder, 'assets'))
}

/** Beside each file a compressed one, which the server sends to whoever takes it: once here, and not at every visit. */
function compress(assets) {
  for (const name of readdirSync(assets).filter((one) => /\.(?:js|css)$/.test(one))) {
    writeFileSync(join(assets, `${name}.gz`), gzipSync(readFileSync(join(assets, name)), { level: 9 }))
  }
}
