import { spinner } from '@clack/prompts'
import { byteSize } from './quantities.ts'

export interface Progress {
  sent(bytes: number, total: number): void
  end(text: string): void
}

/** Shows the progress of an upload on a terminal: first packing, then the bytes sent. */
export function uploadProgress(isQuiet: boolean): Progress {
  if (isQuiet || !process.stderr.isTTY) return { sent: () => {}, end: () => {} }
  const progress = spinner({ output: process.stderr })
  let sentBytes = 0
  progress.start('packing')
  return {
    sent(bytes, total) {
      sentBytes += bytes
      progress.message(`uploading ${byteSize(sentBytes)} of ${byteSize(total)}`)
    },
    end: (message) => progress.stop(`${message} (${byteSize(sentBytes)})`),
  }
}

/** Shows a progress bar on a terminal, for a known total. */
export function bytesProgress(label: string, isQuiet: boolean) {
  const width = 24
  const isShown = !isQuiet && process.stderr.isTTY
  let lastShownAt = 0
  return {
    show(bytes: number, total: number): void {
      const now = Date.now()
      if (!isShown || (now - lastShownAt < 100 && bytes < total)) return
      lastShownAt = now
      const share = total > 0 ? Math.min(1, bytes / total) : 0
      const bar = '█'.repeat(Math.round(share * width)).padEnd(width, '░')
      process.stderr.write(`\r${label} ${bar} ${Math.floor(share * 100)} % (${byteSize(bytes)})`)
    },
    end(message: string): void {
      if (isShown && lastShownAt > 0) process.stderr.write(`\n${message}\n`)
    },
  }
}
