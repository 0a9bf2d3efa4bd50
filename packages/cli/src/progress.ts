import { spinner } from '@clack/prompts'

export interface Progress {
  add(bytes: number): void
  end(words: string): void
}

/** How much of an upload has gone out, on a terminal; its size is not known before the folder is packed. */
export function uploadProgress(isQuiet: boolean): Progress {
  if (isQuiet || !process.stderr.isTTY) return { add: () => {}, end: () => {} }
  const shown = spinner({ output: process.stderr })
  let sent = 0
  shown.start('uploading')
  return {
    add(bytes) {
      sent += bytes
      shown.message(`uploading ${(sent / 1e6).toFixed(1)} MB`)
    },
    end: (words) => shown.stop(`${words} (${(sent / 1e6).toFixed(1)} MB)`),
  }
}

/** A bar of what was done of a whole that is known, on a terminal. */
export function bytesProgress(doing: string, isQuiet: boolean) {
  const width = 24
  const isShown = !isQuiet && process.stderr.isTTY
  let last = 0
  return {
    show(bytes: number, total: number): void {
      const now = Date.now()
      if (!isShown || (now - last < 100 && bytes < total)) return
      last = now
      const share = total > 0 ? Math.min(1, bytes / total) : 0
      const bar = '█'.repeat(Math.round(share * width)).padEnd(width, '░')
      process.stderr.write(`\r${doing} ${bar} ${Math.floor(share * 100)} % (${(bytes / 1e6).toFixed(1)} MB)`)
    },
    end(words: string): void {
      if (isShown && last > 0) process.stderr.write(`\n${words}\n`)
    },
  }
}
