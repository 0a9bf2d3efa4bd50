import { readFileSync } from 'node:fs'

let current: string | null | undefined

/** Identifies this boot of the kernel, shared by its containers; null where the kernel has none. */
export function bootId(): string | null {
  if (current === undefined)
    try {
      current = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    } catch {
      current = null
    }
  return current
}
