import type { Plugin } from 'vite'

/** Links the style below the frame of index.html: the frame is painted while the style is still on its way, and scripts wait for it all the same. */
export function earlyFrame(): Plugin {
  return {
    name: 'early-frame',
    apply: 'build',
    transformIndexHtml: {
      order: 'post',
      handler(html) {
        const style = /\s*<link rel="stylesheet"[^>]*>/.exec(html)?.[0]
        if (!style) throw new Error('The built page links no style: build-parts/early-frame.ts has to look again')
        return html.replace(style, '').replace('</body>', `${style.trim()}</body>`)
      },
    },
  }
}
