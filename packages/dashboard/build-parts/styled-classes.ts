import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Plugin } from 'vite'

const classes = (style: string) => new Set(Array.from(style.matchAll(/\.(m_[0-9a-f]+)/g), ([, name]) => name as string))

/** Fails the build when a script uses a class of the library whose style src/mantine.css leaves out: it would look unfinished. */
export function styledClasses(): Plugin {
  return {
    name: 'styled-classes',
    generateBundle: {
      order: 'post',
      handler(_options, bundle) {
        const files = Object.values(bundle)
        const scripts = files.flatMap((file) => (file.type === 'chunk' ? [file.code] : [])).join('\n')
        const styles = files.flatMap((file) => (file.fileName.endsWith('.css') && 'source' in file ? [String(file.source)] : []))
        const all = classes(readFileSync(fileURLToPath(import.meta.resolve('@mantine/core/styles.css')), 'utf8'))
        const there = classes(styles.join('\n'))
        const missing = [...all].filter((name) => !there.has(name) && scripts.includes(name))
        if (missing.length > 0)
          this.error(
            `src/mantine.css lacks the style of ${missing.join(', ')}: import the file of @mantine/core/styles that has it`,
          )
      },
    },
  }
}
