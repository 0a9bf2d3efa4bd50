import { chmodSync, copyFileSync, existsSync, linkSync, mkdirSync, renameSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Copies the Node that Berth runs on to a folder that every user can access. */
export function copyOfNode(folder: string): string {
  const node = join(folder, 'bin', `node-${process.version}`, 'node')
  if (existsSync(node)) return dirname(node)
  for (const path of [dirname(dirname(node)), dirname(node)]) {
    mkdirSync(path, { recursive: true })
    chmodSync(path, 0o711)
  }
  const draft = `${node}.${process.pid}`
  try {
    linkSync(process.execPath, draft)
  } catch {
    copyFileSync(process.execPath, draft)
  }
  chmodSync(draft, 0o755)
  renameSync(draft, node)
  return dirname(node)
}
