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
