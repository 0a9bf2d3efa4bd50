import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, gzip } from 'node:zlib'
import { build } from 'vite'
import { root } from '../programs.mjs'

export async function buildDashboard(target, folder) {
  await build({
    root: join(root, target.folder),
    configFile: join(root, target.entries.main),
    logLevel: 'warn',
    build: { outDir: folder, emptyOutDir: true },
  })
  await compress(join(folder, 'assets'))
}

/** Writes two compressed copies of each file at build time; the server sends the smallest one that the client accepts. */
async function compress(assets) {
  const names = readdirSync(assets).filter((one) => /\.(?:js|css)$/.test(one))
  await Promise.all(
    names.map(async (name) => {
      const file = join(assets, name)
      const text = readFileSync(file)
      writeFileSync(`${file}.gz`, await promisify(gzip)(text, { level: 9 }))
      writeFileSync(`${file}.br`, await promisify(brotliCompress)(text))
    }),
  )
}
