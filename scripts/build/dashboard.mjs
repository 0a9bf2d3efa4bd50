import { join } from 'node:path'
import { build } from 'vite'
import { root } from '../programs.mjs'

export async function buildDashboard(target, folder) {
  await build({
    root: join(root, target.folder),
    configFile: join(root, target.entries.main),
    logLevel: 'warn',
    build: { outDir: folder, emptyOutDir: true },
  })
}
