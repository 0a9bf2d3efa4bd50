import type { Plugin } from 'vite'

/**
 * Moves the link of the style sheet from the head to the `<!--style-->` comment in the body of index.html. The browser paints the
 * frame above the comment before the style sheet has arrived; scripts still wait for it. Variables that the page sets come after
 * the style sheet, so they override its variables.
 */
export function earlyFrame(): Plugin {
  return {
    name: 'early-frame',
    apply: 'build',
    transformIndexHtml: {
      order: 'post',
      handler(html) {
        const style = /\s*<link rel="stylesheet"[^>]*>/.exec(html)?.[0]
        if (!style || !html.includes(location))
          throw new Error('index.html has no style sheet link, or no <!--style--> comment to move it to')
        return html.replace(style, '').replace(location, style.trim())
      },
    },
  }
}

const location = '<!--style-->'
