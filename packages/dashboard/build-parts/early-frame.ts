import type { Plugin } from 'vite'

/**
 * Links the style between the frame of index.html and the page itself: the frame is painted while the style is still on its way, scripts
 * wait for it all the same, and the variables that the page sets come after those of the style.
 */
export function earlyFrame(): Plugin {
  return {
    name: 'early-frame',
    apply: 'build',
    transformIndexHtml: {
      order: 'post',
      handler(html) {
        const style = /\s*<link rel="stylesheet"[^>]*>/.exec(html)?.[0]
        if (!style || !html.includes(location)) throw new Error('build-parts/early-frame.ts finds no style, or no place for it')
        return html.replace(style, '').replace(location, style.trim())
      },
    },
  }
}

const location = '<!--style-->'
