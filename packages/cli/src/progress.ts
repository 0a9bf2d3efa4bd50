import { spinner } from '@clack/prompts'
import { byteSize } from './quantities.ts'

export interface Progress {
  sent(bytes: number, total: number): void
  end(text: string): void
}

/** How much of an upload has gone out, on a terminal; before that the folder is packed. */
export function uploadProgress(isQuiet: boolean): Progress {
  if (isQuiet || !process.stderr.isTTY) return { sent: () => {}, end: () => {} }
  const shown = spinner({ output: process.stderr })
  let gone = 0
  shown.start('packing')
  return {
    sent(bytes, total) {
      gone += bytes
      shown.message(`uploading ${byteSize(gone)} of ${byteSize(total)}`)
    },
    end: (message) => shown.stop(`${message} (${byteSize(gone)})`),
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
      process.stderr.write(`\r${doing} ${bar} ${Math.floor(share * 100)} % (${byteSize(bytes)})`)
    },
    end(message: string): void {
      if (isShown && last > 0) process.stderr.write(`\n${message}\n`)
    },
  }
}
